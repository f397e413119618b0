// SPDX-License-Identifier: Apache-2.0
#include "src/export/metric_reader.h"

#include "src/otlp/metric_encoder.h"

namespace lens::exporting {
namespace {

std::uint64_t unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

MetricReader::MetricReader(std::chrono::milliseconds interval, std::unique_ptr<Exporter> exporter)
    : interval_(interval),
      exporter_(std::move(exporter)),
      start_unix_ns_(unix_ns()),
      due_(std::chrono::steady_clock::now() + interval) {}

void MetricReader::send(const std::vector<model::Metric>& metrics) {
  due_ = std::chrono::steady_clock::now() + interval_;
  std::uint64_t points = 0;
  for (const model::Metric& metric : metrics) points += metric.point_count();
  sent_points_ += points;
  auto memory = std::make_shared<const std::string>(otlp::encoded_metrics(metrics, start_unix_ns_, unix_ns()));
  const std::string_view elements = *memory;
  exporter_->export_batch({elements, points, std::move(memory)});
}

}  // namespace lens::exporting
