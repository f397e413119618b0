// SPDX-License-Identifier: Apache-2.0
// Metrics as protobuf and JSON: what is put in is what a reader of OTLP/JSON finds.
#include "src/otlp/metric_encoder.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "src/otlp/envelope.h"
#include "src/otlp/json.h"

namespace lens::otlp {
namespace {

using model::MetricKind;
using nlohmann::json;

json request_of(const std::vector<model::Metric>& metrics) {
  const Envelope envelope({{"service.name", "nemo"}}, "lens", "1");
  std::string line;
  append_json(line, Signal::metrics, envelope.request(encoded_metrics(metrics, 1000, 2000)));
  return json::parse(line);
}

json metric_of(const model::Metric& metric) {
  return request_of({metric}).at("resourceMetrics")[0].at("scopeMetrics")[0].at("metrics")[0];
}

TEST(MetricEncoder, StandsInTheEnvelopeOfTheProcess) {
  const json resource_metrics = request_of({{.name = "a", .numbers = {{}}}}).at("resourceMetrics")[0];
  EXPECT_EQ(resource_metrics.at("resource").at("attributes")[0].at("value").at("stringValue"), "nemo");
  EXPECT_EQ(resource_metrics.at("scopeMetrics")[0].at("scope"), (json{{"name", "lens"}, {"version", "1"}}));
}

TEST(MetricEncoder, WritesCountersAsCumulativeMonotonicSums) {
  model::Metric spans{"otel.sdk.span.started", MetricKind::counter, "{span}", "Spans that began."};
  spans.numbers = {{{{"error.type", "queue_full"}}, std::int64_t{1} << 60}};
  EXPECT_EQ(metric_of(spans), json::parse(R"({
    "name": "otel.sdk.span.started", "description": "Spans that began.", "unit": "{span}",
    "sum": {"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [{
      "startTimeUnixNano": "1000", "timeUnixNano": "2000", "asInt": "1152921504606846976",
      "attributes": [{"key": "error.type", "value": {"stringValue": "queue_full"}}]}]}})"));
}

TEST(MetricEncoder, WritesSumsThatMayFallAsSuch) {
  const json sum = metric_of({.name = "a", .kind = MetricKind::up_down_counter, .numbers = {{{}, -3}}}).at("sum");
  EXPECT_EQ(sum.at("isMonotonic"), false);
  EXPECT_EQ(sum.at("dataPoints")[0].at("asInt"), "-3");
}

TEST(MetricEncoder, WritesGaugesWithoutAStart) {
  const json gauge = metric_of({.name = "loss", .kind = MetricKind::gauge, .numbers = {{{}, 0.25}}}).at("gauge");
  EXPECT_EQ(gauge, json::parse(R"({"dataPoints": [{"timeUnixNano": "2000", "asDouble": 0.25}]})"));
}

TEST(MetricEncoder, PassesNumbersThatAreNoneAsTheyAre) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const json gauge = metric_of({.name = "loss", .kind = MetricKind::gauge, .numbers = {{{}, nan}, {{}, -infinity}}});
  EXPECT_EQ(gauge.at("gauge").at("dataPoints")[0].at("asDouble"), "NaN");
  EXPECT_EQ(gauge.at("gauge").at("dataPoints")[1].at("asDouble"), "-Infinity");
}

TEST(MetricEncoder, WritesHistogramsWithTheirBuckets) {
  model::Histogram durations({0.5, 1.0});
  for (const double value : {0.25, 0.5, 0.75, 2.0}) durations.record(value);
  EXPECT_EQ(metric_of({.name = "d", .kind = MetricKind::histogram, .unit = "s", .histograms = {{{}, durations}}}),
            json::parse(R"({"name": "d", "unit": "s", "histogram": {"aggregationTemporality": 2, "dataPoints": [{
              "startTimeUnixNano": "1000", "timeUnixNano": "2000", "count": "4", "sum": 3.5, "min": 0.25, "max": 2.0,
              "bucketCounts": ["2", "1", "1"], "explicitBounds": [0.5, 1.0]}]}})"));
}

TEST(MetricEncoder, AnEmptyHistogramHasNoLeastAndMost) {
  const json metric =
      metric_of({.name = "d", .kind = MetricKind::histogram, .histograms = {{{}, model::Histogram({1.0})}}});
  const json point = metric.at("histogram").at("dataPoints")[0];
  EXPECT_EQ(point.at("count"), "0");
  EXPECT_FALSE(point.contains("min") || point.contains("max"));
}

TEST(MetricEncoder, LeavesMetricsWithoutPointsOut) {
  EXPECT_EQ(encoded_metrics(std::vector<model::Metric>{{.name = "a"}}, 1, 2), "");
}

}  // namespace
}  // namespace lens::otlp
