// SPDX-License-Identifier: Apache-2.0
// What a program says through spdlog.
#include "lens/spdlog.h"

#include <gtest/gtest.h>
#include <spdlog/async.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "tests/flow/recorded_logs.h"

namespace lens::tests {
namespace {

using nlohmann::json;

json text(const std::string& value) { return {{"stringValue", value}}; }

// Contract: 6.logs-spdlog
TEST(SpdlogSink, NamesTheSpanTheLoggerAndThePlace) {
  int line = 0;
  const RecordedLogs logs = record_logs([&] {
    spdlog::logger logger("data", spdlog_sink());
    auto step = managed_span(SpanGroup::step, "step");
    logger.info("plain {}", 1);
    SPDLOG_LOGGER_INFO(&logger, "with place"), line = __LINE__;
  });
  const json& plain = logs.only("plain 1");
  EXPECT_EQ(plain.at("spanId"), logs.trace.only("step").span_id);
  EXPECT_EQ(plain.at("traceId"), logs.trace.only("step").trace_id);
  EXPECT_EQ(attribute_of(plain, "logger.name"), text("data"));
  EXPECT_EQ(attribute_of(plain, "thread.id"), json({{"intValue", std::to_string(gettid())}}));
  EXPECT_TRUE(attribute_of(plain, "code.file.path").is_null());
  const json& placed = logs.only("with place");
  EXPECT_TRUE(
      attribute_of(placed, "code.file.path").at("stringValue").get<std::string>().ends_with("name_their_span_test.cc"));
  EXPECT_EQ(attribute_of(placed, "code.line.number"), json({{"intValue", std::to_string(line)}}));
  EXPECT_FALSE(attribute_of(placed, "code.function.name").is_null());
}

// Contract: 6.logs-spdlog
TEST(SpdlogSink, ForwardsEveryLevelThatTheLoggerPasses) {
  const RecordedLogs logs = record_logs([] {
    spdlog::logger logger("", spdlog_sink());
    logger.set_level(spdlog::level::debug);
    logger.trace("trace");
    logger.debug("debug");
    logger.info("info");
    logger.warn("warn");
    logger.error("error");
    logger.critical("critical");
  });
  ASSERT_EQ(logs.records.size(), 5u);
  const std::pair<const char*, const char*> expected[] = {
      {"debug", "DEBUG"}, {"info", "INFO"}, {"warn", "WARN"}, {"error", "ERROR"}, {"critical", "FATAL"}};
  for (const auto& [body, severity] : expected) EXPECT_EQ(logs.only(body).at("severityText"), severity);
  EXPECT_TRUE(attribute_of(logs.only("info"), "logger.name").is_null());
}

TEST(SpdlogSink, OfAnAsynchronousLoggerKeepsTheTimeAndNamesNoSpan) {
  std::uint64_t before = 0, after = 0;
  const auto now = [] {
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  };
  const RecordedLogs logs = record_logs([&] {
    auto pool = std::make_shared<spdlog::details::thread_pool>(16, 1);
    auto logger = std::make_shared<spdlog::async_logger>("async", spdlog_sink(), pool);
    auto step = managed_span(SpanGroup::step, "step");
    before = now();
    logger->info("queued");
    after = now();
    pool.reset();  // waits until it is written
  });
  const json& record = logs.only("queued");
  EXPECT_FALSE(record.contains("spanId"));
  const std::uint64_t time = std::stoull(record.at("timeUnixNano").get<std::string>());
  EXPECT_GE(time, before);
  EXPECT_LE(time, after);
}

TEST(SpdlogSink, SaysNothingWhileLogRecordsAreOff) {
  const RecordedLogs logs = record_logs([] { spdlog::logger("quiet", spdlog_sink()).error("unheard"); },
                                        [](Config& config) { config.logs_enabled = false; });
  EXPECT_TRUE(logs.files.empty());
}

}  // namespace
}  // namespace lens::tests
