// SPDX-License-Identifier: Apache-2.0
// The library's metrics of itself, from set-up to the file that they lie in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using nlohmann::json;

Config json_config(const TemporaryDirectory& directory) {
  Config config = recording_config(directory.path());
  config.file_format = "json";
  return config;
}

/// Each request of the one file of metrics, oldest first.
std::vector<json> requests_in(const TemporaryDirectory& directory) {
  std::vector<json> requests;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("metrics-rank0-")) continue;
    std::istringstream stream(directory.read(name));
    // A line without its end is being written.
    for (std::string line; std::getline(stream, line) && !stream.eof();) requests.push_back(json::parse(line));
  }
  return requests;
}

json metric_in(const json& request, const std::string& name) {
  for (const json& metric : request.at("resourceMetrics")[0].at("scopeMetrics")[0].at("metrics"))
    if (metric.at("name") == name) return metric;
  return {};
}

/// The value of the point that has this cause of failure, or none; -1: there is no such point.
int value_in(const json& request, const std::string& name, const std::string& error_type = "") {
  const json metric = metric_in(request, name);
  for (const json& point : metric.at("sum").at("dataPoints")) {
    std::string cause;
    for (const json& attribute : point.value("attributes", json::array()))
      if (attribute.at("key") == "error.type") cause = attribute.at("value").at("stringValue");
    if (cause == error_type) return std::stoi(point.at("asInt").get<std::string>());
  }
  return -1;
}

void record_steps(int count) {
  for (int i = 0; i < count; ++i) auto step = managed_span(SpanGroup::step, "step");
}

// Contract: 7.counters
TEST(SelfMetrics, FollowEveryLogRecordWhereThereAreSome) {
  TemporaryDirectory directory;
  Config config = json_config(directory);
  config.logs_enabled = true;
  {
    auto telemetry = setup_telemetry(config, {});
    for (int i = 0; i < 5; ++i) log(Severity::info, "a line");
  }
  const json last = requests_in(directory).back();
  EXPECT_EQ(value_in(last, "otel.sdk.log.created"), 5);
  EXPECT_EQ(value_in(last, "otel.sdk.processor.log.queue.size"), 0);
  EXPECT_EQ(value_in(last, "otel.sdk.processor.log.processed"), 5);
  EXPECT_EQ(value_in(last, "otel.sdk.exporter.log.inflight"), 0);
  EXPECT_EQ(value_in(last, "otel.sdk.exporter.log.exported"), 5);
  EXPECT_EQ(metric_in(last, "otel.sdk.log.created").at("unit"), "{log_record}");
}

// Contract: 7.counters
TEST(SelfMetrics, FollowEverySpanFromItsBeginToItsDelivery) {
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(json_config(directory), {});
  {
    auto job = managed_span(SpanGroup::job, "job");
    record_steps(3);
    ASSERT_TRUE(telemetry.force_flush(std::chrono::seconds(60)));
  }
  telemetry.shutdown();
  const auto requests = requests_in(directory);
  ASSERT_EQ(requests.size(), 2u) << "at the flush and at shutdown";
  EXPECT_EQ(value_in(requests[0], "otel.sdk.span.started"), 4);
  EXPECT_EQ(value_in(requests[0], "otel.sdk.span.live"), 1);
  EXPECT_EQ(value_in(requests[0], "otel.sdk.exporter.span.exported"), 3);
  EXPECT_EQ(value_in(requests[1], "otel.sdk.span.started"), 4);
  EXPECT_EQ(value_in(requests[1], "otel.sdk.span.live"), 0);
  EXPECT_EQ(value_in(requests[1], "otel.sdk.processor.span.queue.size"), 0);
  EXPECT_EQ(value_in(requests[1], "otel.sdk.processor.span.processed"), 4);
  EXPECT_EQ(value_in(requests[1], "otel.sdk.exporter.span.inflight"), 0);
  EXPECT_EQ(value_in(requests[1], "otel.sdk.exporter.span.exported"), 4);
  const json durations = metric_in(requests[1], "otel.sdk.exporter.operation.duration");
  EXPECT_EQ(durations.at("histogram").at("dataPoints")[0].at("count"), "2");
}

// Contract: 7.counters, C8
TEST(SelfMetrics, CountWhatFoundNoRoomAndShutdownSaysIt) {
  TemporaryDirectory directory;
  Config config = json_config(directory);
  std::vector<std::string> said;
  config.on_error = [&](std::string_view line) { said.emplace_back(line); };
  auto telemetry = setup_telemetry(config, {});
  // More threads than there are rings: the last ones have none.
  constexpr int threads = 300;
  std::vector<std::thread> all;
  std::atomic<int> begun = 0;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      record_steps(1);
      ++begun;
      while (begun < threads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : all) thread.join();
  telemetry.shutdown();
  const auto requests = requests_in(directory);
  ASSERT_FALSE(requests.empty());
  const int lost = value_in(requests.back(), "otel.sdk.processor.span.processed", "no_ring");
  EXPECT_GT(lost, 0);
  EXPECT_EQ(value_in(requests.back(), "otel.sdk.span.started"), threads);
  EXPECT_EQ(value_in(requests.back(), "otel.sdk.exporter.span.exported"), threads - lost);
  EXPECT_THAT(said, testing::ElementsAre(testing::HasSubstr("got no memory to record in"),
                                         "telemetry lost " + std::to_string(lost) +
                                             " of 300 spans: " + std::to_string(lost) + " (no ring for their thread)"));
}

// Contract: 7.counters
TEST(Counters, OfALaterSessionBeginAtZero) {
  const TemporaryDirectory first, second;
  {
    auto telemetry = setup_telemetry(recording_config(first.path()), {});
    record_steps(5);
  }
  auto telemetry = setup_telemetry(recording_config(second.path()), {});
  EXPECT_EQ(telemetry.counters().spans_recorded, 0u);
  EXPECT_EQ(telemetry.counters().spans_exported, 0u);
}

TEST(SelfMetrics, AreSentEachIntervalUnasked) {
  TemporaryDirectory directory;
  Config config = json_config(directory);
  config.standard.metric_export_interval = std::chrono::milliseconds(1);
  auto telemetry = setup_telemetry(config, {});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (requests_in(directory).size() < 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_GE(requests_in(directory).size(), 3u);
}

TEST(SelfMetrics, AreAbsentWhenTurnedOff) {
  TemporaryDirectory directory;
  Config config = json_config(directory);
  config.metrics_enabled = false;
  {
    auto telemetry = setup_telemetry(config, {});
    record_steps(1);
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("metrics")) << entry.path();
}

TEST(SelfMetrics, StandBesideSpansWithoutConfusingTheirReader) {
  const RecordedTrace trace = record([] { record_steps(2); });
  EXPECT_EQ(trace.count("step"), 2u);
  EXPECT_EQ(trace.files.size(), 1u);
}

}  // namespace
}  // namespace lens::tests
