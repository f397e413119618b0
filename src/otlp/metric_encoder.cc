// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/metric_encoder.h"

#include <protozero/pbf_writer.hpp>

#include "src/otlp/envelope.h"

namespace lens::otlp {
namespace {

using protozero::pbf_writer;

constexpr std::int32_t cumulative = 2;  // AggregationTemporality

// Field numbers of OTLP's metrics.proto.
enum { metric_gauge = 5, metric_sum = 7, metric_histogram = 9 };
enum { point_start = 2, point_time = 3 };
enum { number_as_double = 4, number_as_int = 6, number_attributes = 7 };
enum {
  histogram_count = 4,
  histogram_sum = 5,
  histogram_buckets = 6,
  histogram_bounds = 7,
  histogram_attributes = 9,
  histogram_least = 11,
  histogram_most = 12
};

class Writer {
 public:
  Writer(std::uint64_t start_unix_ns, std::uint64_t now_unix_ns) : start_(start_unix_ns), now_(now_unix_ns) {}

  void write(pbf_writer& metrics, const model::Metric& metric) const {
    pbf_writer message(metrics, 2);
    message.add_string(1, metric.name);
    if (!metric.description.empty()) message.add_string(2, metric.description);
    if (!metric.unit.empty()) message.add_string(3, metric.unit);
    switch (metric.kind) {
      case model::MetricKind::gauge: write_gauge(message, metric); break;
      case model::MetricKind::histogram: write_histogram(message, metric); break;
      case model::MetricKind::counter: write_sum(message, metric, true); break;
      case model::MetricKind::up_down_counter: write_sum(message, metric, false); break;
    }
  }

 private:
  void write_gauge(pbf_writer& metric, const model::Metric& from) const {
    pbf_writer gauge(metric, metric_gauge);
    for (const model::NumberPoint& point : from.numbers) write_number(gauge, point, false);
  }

  void write_sum(pbf_writer& metric, const model::Metric& from, bool is_monotonic) const {
    pbf_writer sum(metric, metric_sum);
    for (const model::NumberPoint& point : from.numbers) write_number(sum, point, true);
    sum.add_enum(2, cumulative);
    sum.add_bool(3, is_monotonic);
  }

  void write_histogram(pbf_writer& metric, const model::Metric& from) const {
    pbf_writer histogram(metric, metric_histogram);
    for (const model::HistogramPoint& point : from.histograms) write_buckets(histogram, point);
    histogram.add_enum(2, cumulative);
  }

  void write_times(pbf_writer& point, bool has_start) const {
    if (has_start) point.add_fixed64(point_start, start_);
    point.add_fixed64(point_time, now_);
  }

  void write_number(pbf_writer& points, const model::NumberPoint& from, bool has_start) const {
    pbf_writer point(points, 1);
    write_times(point, has_start);
    if (const auto* number = std::get_if<double>(&from.value))
      point.add_double(number_as_double, *number);
    else
      point.add_sfixed64(number_as_int, std::get<std::int64_t>(from.value));
    append_attributes(point, number_attributes, from.attributes);
  }

  void write_buckets(pbf_writer& points, const model::HistogramPoint& from) const {
    const model::Histogram& histogram = from.histogram;
    pbf_writer point(points, 1);
    write_times(point, true);
    point.add_fixed64(histogram_count, histogram.count());
    point.add_double(histogram_sum, histogram.sum());
    point.add_packed_fixed<std::uint64_t>(histogram_buckets, histogram.buckets().begin(), histogram.buckets().end());
    point.add_packed_double(histogram_bounds, histogram.bounds().begin(), histogram.bounds().end());
    append_attributes(point, histogram_attributes, from.attributes);
    if (histogram.count() == 0) return;
    point.add_double(histogram_least, histogram.least());
    point.add_double(histogram_most, histogram.most());
  }

  std::uint64_t start_, now_;
};

}  // namespace

std::string encoded_metrics(std::span<const model::Metric> metrics, std::uint64_t start_unix_ns,
                            std::uint64_t now_unix_ns) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const model::Metric& metric : metrics) {
    if (metric.point_count() > 0) Writer(start_unix_ns, now_unix_ns).write(writer, metric);
  }
  return bytes;
}

}  // namespace lens::otlp
