// SPDX-License-Identifier: Apache-2.0
// FILE_MAX_SIZE: a file that is full is followed by the next one of the process, between two messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/file.h"
#include "tests/flow/recorded_logs.h"
#include "tools/trace/trace.h"

namespace lens::tests {
namespace {

namespace fs = std::filesystem;
using namespace lens::literals;

constexpr std::uint64_t most_bytes = 4096;

Config small_files(const fs::path& directory) {
  Config config = logging_config(directory);
  config.file_max_size_bytes = most_bytes;
  config.standard.span_batch.schedule_delay = std::chrono::hours(1);
  config.on_error = [](std::string_view line) {
    if (line.find("FILE_MAX_SIZE") == line.npos) ADD_FAILURE() << "background failure: " << line;
  };
  return config;
}

/// Flushed in parts, so that no message fills a file by itself.
void record_much(TelemetryHandle& telemetry, int from, int to) {
  for (int i = from; i < to; ++i) {
    { auto step = managed_span(SpanGroup::step, "step", "n"_a = i); }
    log(Severity::info, std::to_string(i));
    if (i % 5 == 4) telemetry.force_flush(std::chrono::seconds(60));
  }
}

std::vector<std::string> names(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  return names;
}

/// first.otlp.zst, first.2.otlp.zst, first.3.otlp.zst, …
std::vector<std::string> numbered(const std::vector<fs::path>& files) {
  const std::string first = files.at(0).filename().string();
  const std::size_t point = first.find('.');
  std::vector<std::string> names{first};
  for (std::size_t number = 2; number <= files.size(); ++number)
    names.push_back(first.substr(0, point) + '.' + std::to_string(number) + first.substr(point));
  return names;
}

// Contract: C25
TEST(FullFile, IsFollowedByTheNextBetweenTwoMessages) {
  for (const char* format : {"proto", "json"}) {
    SCOPED_TRACE(format);
    const TemporaryDirectory directory;
    Config config = small_files(directory.path());
    config.file_format = format;
    {
      auto telemetry = setup_telemetry(config, {});
      record_much(telemetry, 0, 1000);
    }
    const trace::Trace trace = trace::open_trace(directory.path());
    for (const auto& files : {trace.files, trace.metrics_files, trace.logs_files}) {
      ASSERT_GT(files.size(), 2u);
      EXPECT_EQ(names(files), numbered(files));
      for (const fs::path& file : files) EXPECT_GT(fs::file_size(file), 0u) << file;
    }
    for (const fs::path& file : trace.files) EXPECT_LE(fs::file_size(file), most_bytes) << file;
    const RecordedLogs recorded = read_logs(directory.path());
    EXPECT_THAT(recorded.trace.problems, testing::IsEmpty()) << "every file begins and ends with a message";
    ASSERT_EQ(recorded.trace.spans.size(), 1000u);
    EXPECT_EQ(recorded.records.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(recorded.trace.spans[std::size_t(i)].at<std::int64_t>("n"), i);
    if (config.file_format != "json") continue;
    for (const fs::path& file : trace.files) {
      const std::string content = base::read_file(file).value();
      EXPECT_EQ(content.back(), '\n');
      EXPECT_EQ(content.find('\0'), std::string::npos);
    }
  }
}

TEST(FullFile, GoesOnWhereNoNextOneCanBeMadeAndSaysSoOnce) {
  const TemporaryDirectory directory;
  Config config = small_files(directory.path());
  config.logs_enabled = config.metrics_enabled = false;
  std::vector<std::string> said;
  config.on_error = [&](std::string_view line) { said.emplace_back(line); };
  std::string next;
  {
    auto telemetry = setup_telemetry(config, {});
    next = trace::open_trace(directory.path()).files.at(0);
    next.insert(next.find(".otlp"), ".2");
    fs::create_directory(next);
    record_much(telemetry, 0, 1000);
    EXPECT_THAT(said, testing::ElementsAre(testing::HasSubstr("FILE_MAX_SIZE"), testing::HasSubstr("File exists")));
    fs::remove(next);
    record_much(telemetry, 1000, 1100);
  }
  EXPECT_TRUE(fs::is_regular_file(next));
  EXPECT_EQ(read_trace(directory.path()).spans.size(), 1100u);
}

TEST(FullFile, IsNoFileWithoutALimit) {
  const TemporaryDirectory directory;
  Config config = small_files(directory.path());
  config.file_max_size_bytes = 0;
  {
    auto telemetry = setup_telemetry(config, {});
    record_much(telemetry, 0, 1000);
  }
  EXPECT_EQ(trace::open_trace(directory.path()).files.size(), 1u);
}

// Contract: C25, 3.flush
TEST(FileExporter, HasWrittenWhatEndedBeforeAFlushWhenThatReturns) {
  for (const std::uint64_t most : {std::uint64_t{0}, most_bytes}) {
    const TemporaryDirectory directory;
    Config config = small_files(directory.path());
    config.file_max_size_bytes = most;
    auto telemetry = setup_telemetry(config, {});
    std::size_t ended = 0;
    for (int flush = 0; flush < 50; ++flush) {
      for (int i = 0; i <= flush; ++i, ++ended) {
        auto step = managed_span(SpanGroup::step, "step");
        log(Severity::info, "step");
      }
      ASSERT_TRUE(telemetry.force_flush(std::chrono::seconds(60)));
      const RecordedLogs recorded = read_logs(directory.path());
      ASSERT_EQ(recorded.trace.spans.size(), ended);
      ASSERT_EQ(recorded.records.size(), ended);
    }
  }
}

}  // namespace
}  // namespace lens::tests
