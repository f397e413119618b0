// SPDX-License-Identifier: Apache-2.0
#include "src/export/metric_reader.h"

#include "lens/time_limit.h"
#include "src/base/unix_time.h"
#include "src/otlp/metric_encoder.h"

namespace lens::exporting {

MetricReader::MetricReader(std::chrono::milliseconds interval, std::unique_ptr<Exporter> exporter)
    : interval_(detail::bounded(interval)),
      exporter_(std::move(exporter)),
      start_unix_ns_(base::unix_ns_now()),
      due_(std::chrono::steady_clock::now() + interval_) {}

void MetricReader::send(const std::vector<model::Metric>& metrics) {
  due_ = std::chrono::steady_clock::now() + interval_;
  std::uint64_t points = 0;
  for (const model::Metric& metric : metrics) points += metric.point_count();
  auto memory =
      std::make_shared<const std::string>(otlp::encoded_metrics(metrics, start_unix_ns_, base::unix_ns_now()));
  const std::string_view elements = *memory;
  exporter_->export_batch({elements, points, std::move(memory)});
}

}  // namespace lens::exporting
