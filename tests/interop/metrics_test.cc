// SPDX-License-Identifier: Apache-2.0
// Metrics through the OpenTelemetry Collector, by each way: what it understood of them.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "lens/lens.h"
#include "tests/interop/receiver.h"
#include "tests/interop/sample.h"
#include "tests/interop/ways.h"

namespace lens::tests {
namespace {

using nlohmann::json;

/// The first point of each metric of the last request, by the metric's name.
std::map<std::string, json> last_points_in(const std::filesystem::path& file) {
  std::map<std::string, json> points;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const json request = json::parse(line);
    for (const json& metric : request.at("resourceMetrics")[0].at("scopeMetrics")[0].at("metrics")) {
      const json& data = metric.contains("sum") ? metric.at("sum") : metric.at("histogram");
      EXPECT_EQ(data.at("aggregationTemporality"), 2);
      points[metric.at("name")] = data.at("dataPoints")[0];
    }
  }
  return points;
}

class Metrics : public testing::TestWithParam<Way> {};

TEST_P(Metrics, AreUnderstoodByTheCollector) {
  const auto program = find_peer("otelcol");
  if (!program) GTEST_SKIP() << "otelcol is not installed: scripts/interop-setup";
  Collector collector(*program);
  Config config = sending_config(GetParam(), collector.endpoint(GetParam().protocol));
  config.metrics_enabled = true;
  config.standard.otlp_metrics = config.standard.otlp_traces;
  auto telemetry = setup_telemetry(config, {});
  for (int i = 0; i < 7; ++i) auto step = managed_span(SpanGroup::step, "step");
  telemetry.shutdown();
  collector.stop();

  auto points = last_points_in(collector.metrics_file());
  EXPECT_EQ(points["otel.sdk.span.started"].value("asInt", ""), "7");
  EXPECT_EQ(points["otel.sdk.exporter.span.exported"].value("asInt", ""), "7");
  EXPECT_EQ(points["otel.sdk.exporter.span.inflight"].value("asInt", ""), "0");
  const json duration = points["otel.sdk.exporter.operation.duration"];
  EXPECT_EQ(duration.value("count", ""), "1");
  EXPECT_EQ(duration.value("bucketCounts", json()).size(), duration.value("explicitBounds", json()).size() + 1);
  EXPECT_GT(duration.value("sum", 0.0), 0.0);
}

INSTANTIATE_TEST_SUITE_P(By, Metrics, testing::ValuesIn(all_ways()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace lens::tests
