// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

void train() {
  auto job = managed_span(SpanGroup::job, "job", attribute("text \"quoted\"\n", "line\nbreak"));
  auto step = managed_span(SpanGroup::step, "step", attribute("iteration", 3));
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  return lines;
}

// Contract: 2.exporter, L18, 7.console
TEST(ConsoleExporter, PrintsOneJsonObjectPerSpanAndBatchOfMetricsThatNamesItsSignal) {
  TemporaryDirectory directory;
  const int status = run_in_child([&] {
    const int file = open((directory.path() / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
    Config config = recording_config(directory.path() / "unused");
    config.exporter = "console";
    auto telemetry = setup_telemetry(config, {});
    train();
  });
  ASSERT_EQ(status, 0);
  const auto lines = json_lines(directory.read("out"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].at("signal"), "metrics");
  EXPECT_GT(lines[2].at("resourceMetrics")[0].at("scopeMetrics")[0].at("metrics").size(), 1u);
  std::string names;
  for (const auto& line : {lines[0], lines[1]}) {
    EXPECT_EQ(line.at("signal"), "traces");
    const auto& spans = line.at("resourceSpans")[0].at("scopeSpans")[0].at("spans");
    EXPECT_EQ(spans.size(), 1u);
    names += spans[0].at("name").get<std::string>() + " ";
  }
  EXPECT_EQ(names, "step job ");
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "unused"));
}

// Contract: 2.file, 7.file
TEST(FileExporter, WritesJsonLinesWhenAskedTo) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path());
  config.file_format = "json";
  auto telemetry = setup_telemetry(config, {});
  train();
  telemetry.shutdown();
  const RecordedTrace trace = read_trace(directory.path());
  ASSERT_EQ(trace.files.size(), 1u);
  EXPECT_EQ(trace.files[0].extension(), ".jsonl");
  EXPECT_EQ(trace.names(), "job step");
  EXPECT_EQ(trace.only("job").at<std::string>("text \"quoted\"\n"), "line\nbreak");
  EXPECT_EQ(trace.only("step").parent_id, trace.only("job").span_id);
  EXPECT_EQ(json_lines(directory.read(trace.files[0].filename())).size(), 1u);
}

// Contract: 7.file
TEST(FileExporter, WritesTheResourceOfTheProcess) {
  const RecordedTrace trace = record(train);
  EXPECT_EQ(trace.resource.at("nemo.run.id"), AttributeValue{std::string("test")});
  EXPECT_EQ(trace.resource.at("service.instance.id"), AttributeValue{std::string("test-rank0")});
  EXPECT_EQ(trace.resource.at("dl.rank"), AttributeValue{std::int64_t{0}});
  EXPECT_EQ(trace.resource.at("process.pid"), AttributeValue{std::int64_t{getpid()}});
}

// Contract: 2.exporter
TEST(NoExporter, CountsAndWritesNothing) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path() / "unused");
  config.exporter = "none";
  auto telemetry = setup_telemetry(config, {});
  train();
  EXPECT_TRUE(telemetry.force_flush(std::chrono::seconds(60)));
  EXPECT_EQ(telemetry.counters().spans_recorded, 2u);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace lens::tests
