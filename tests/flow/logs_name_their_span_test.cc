// SPDX-License-Identifier: Apache-2.0
// What the program logs carries severity, body, attributes and the ids of the span it was logged in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/flow/recorded_logs.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
using nlohmann::json;

void expect_within(const json& record, const RecordedSpan& span) {
  EXPECT_EQ(record.value("traceId", ""), span.trace_id);
  EXPECT_EQ(record.value("spanId", ""), span.span_id);
  EXPECT_EQ(record.value("flags", 0), static_cast<int>(span.flags & 0xff));
}

// Contract: 6.logs-span
TEST(Logs, NameTheSpanThatIsCurrent) {
  const RecordedLogs logs = record_logs([] {
    log(Severity::info, "before");
    auto step = managed_span(SpanGroup::step, "step");
    log(Severity::info, "in step");
    {
      auto forward = managed_span(SpanGroup::forward_backward, "forward");
      log(Severity::info, "in forward");
    }
    log(Severity::info, "in step again");
  });
  ASSERT_EQ(logs.records.size(), 4u);
  EXPECT_FALSE(logs.only("before").contains("traceId"));
  EXPECT_FALSE(logs.only("before").contains("spanId"));
  expect_within(logs.only("in step"), logs.trace.only("step"));
  expect_within(logs.only("in forward"), logs.trace.only("forward"));
  expect_within(logs.only("in step again"), logs.trace.only("step"));
}

// Contract: 6.logs-span
TEST(Logs, NameTheHandleThatIsActiveOnTheirThread) {
  const RecordedLogs logs = record_logs([] {
    SpanHandle request = start_span(SpanGroup::job, "request");
    std::thread([&] {
      log(Severity::info, "not yet");
      auto scope = request.activate();
      log(Severity::info, "active");
    }).join();
  });
  expect_within(logs.only("active"), logs.trace.only("request"));
  EXPECT_FALSE(logs.only("not yet").contains("spanId"));
}

// Contract: 6.logs-unsampled
TEST(Logs, OfASpanThatIsNotKeptAreKeptAndSaySo) {
  const RecordedLogs logs = record_logs(
      [] {
        for (int iteration = 1; iteration <= 2; ++iteration) {
          auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
          log(Severity::info, "step " + std::to_string(iteration));
        }
      },
      [](Config& config) { config.sample_every_n_steps = 2; });
  expect_within(logs.only("step 2"), logs.trace.only("step"));
  const json& record = logs.only("step 1");
  EXPECT_EQ(record.value("flags", 0), 2) << "a random trace id, not sampled";
  EXPECT_EQ(record.value("traceId", "").size(), 32u);
  EXPECT_NE(record.value("spanId", ""), logs.only("step 2").value("spanId", ""));
}

// Contract: 6.logs-record
TEST(Logs, CarrySeverityTimeAndAttributesOfEveryType) {
  const auto happened = SystemTime(std::chrono::seconds(1'700'000'000));
  const RecordedLogs logs = record_logs([&] {
    log(
        Severity::error, "all of them", "flag"_a = true, "count"_a = -3, "ratio"_a = 0.5, "text"_a = "hidden",
        "name"_a = "shown", "sizes"_a = std::vector<int>{1, 2}, "names"_a = std::vector<std::string>{"a", "b"},
        "big"_a = ~std::uint64_t{0}, "late"_a = [] { return 7; }, "count"_a = 4);
    log(Severity::debug, "earlier", happened);
  });
  const json& record = logs.only("all of them");
  EXPECT_EQ(record.at("severityNumber"), 17);
  EXPECT_EQ(record.at("severityText"), "ERROR");
  EXPECT_EQ(record.at("timeUnixNano"), record.at("observedTimeUnixNano"));
  EXPECT_EQ(attribute_of(record, "flag"), json({{"boolValue", true}}));
  EXPECT_EQ(attribute_of(record, "count"), json({{"intValue", "4"}})) << "of equal keys the last";
  EXPECT_EQ(attribute_of(record, "ratio"), json({{"doubleValue", 0.5}}));
  EXPECT_EQ(attribute_of(record, "text"), json({{"stringValue", "[REDACTED]"}}));
  EXPECT_EQ(attribute_of(record, "name"), json({{"stringValue", "shown"}}));
  EXPECT_EQ(attribute_of(record, "sizes").at("arrayValue").at("values"),
            json::parse(R"([{"intValue":"1"},{"intValue":"2"}])"));
  EXPECT_EQ(attribute_of(record, "names").at("arrayValue").at("values"),
            json::parse(R"([{"stringValue":"a"},{"stringValue":"b"}])"));
  EXPECT_EQ(attribute_of(record, "big"), json({{"stringValue", "18446744073709551615"}}));
  EXPECT_EQ(attribute_of(record, "late"), json({{"intValue", "7"}}));
  const json& earlier = logs.only("earlier");
  EXPECT_EQ(earlier.at("timeUnixNano"), "1700000000000000000");
  EXPECT_GT(earlier.at("observedTimeUnixNano"), earlier.at("timeUnixNano"));
  EXPECT_EQ(earlier.at("severityText"), "DEBUG");
}

// Contract: 6.logs-limits
TEST(Logs, CutALongBodyBetweenTwoCharactersAndSayIt) {
  const std::string fits(max_log_body_bytes, 'a');
  const std::string odd = "x" + [] {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "é";
    return text;
  }();
  const RecordedLogs logs = record_logs([&] {
    log(Severity::info, fits);
    log(Severity::info, odd);
    log(Severity::info, "bad \xff byte");
  });
  EXPECT_TRUE(attribute_of(logs.only(fits), "nemo.log.truncated").is_null());
  const json& cut = logs.only(odd.substr(0, max_log_body_bytes - 1));
  EXPECT_EQ(attribute_of(cut, "nemo.log.truncated"), json({{"boolValue", true}}));
  logs.only("bad \xef\xbf\xbd byte");
}

// Contract: 6.logs-limits
TEST(Logs, KeepTheLimitsOfAttributes) {
  const RecordedLogs logs =
      record_logs([] { log(Severity::info, "limited", "a"_a = "abcdef", "b"_a = 1, "c"_a = 2); },
                  [](Config& config) { config.standard.log_limits = {.attributes = 2, .value_length = 3}; });
  const json& record = logs.only("limited");
  EXPECT_EQ(attribute_of(record, "a"), json({{"stringValue", "abc"}}));
  EXPECT_EQ(record.at("attributes").size(), 2u);
  EXPECT_EQ(record.at("droppedAttributesCount"), 1);
}

// Contract: 6.logs-off
TEST(Logs, AreOffUnlessAskedFor) {
  bool is_called = false;
  const auto body = [&] {
    log(
        Severity::info, "unheard", "late"_a = [&] { return is_called = true; });
  };
  body();  // before set-up
  const RecordedLogs logs = record_logs(body, [](Config& config) { config.logs_enabled = false; });
  EXPECT_TRUE(logs.files.empty());
  EXPECT_FALSE(is_called);
  EXPECT_FALSE(is_logging());
}

// Contract: 6.logs-off
TEST(Logs, ComeWithoutSpansWhereTheseAreOff) {
  const RecordedLogs logs = record_logs(
      [] {
        auto step = managed_span(SpanGroup::step, "step");
        auto ungated = span_cm("ungated");
        EXPECT_FALSE(step);
        EXPECT_FALSE(ungated);
        log(Severity::warn, "alone");
      },
      [](Config& config) { config.traces_enabled = false; });
  EXPECT_FALSE(logs.only("alone").contains("spanId"));
  EXPECT_TRUE(logs.trace.files.empty());
}

TEST(Logs, OfAForkedChildAreItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer supports no threads in a child of a process with several";
#endif
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(logging_config(directory.path()), {});
  log(Severity::info, "parent");
  EXPECT_EQ(run_in_child([&] {
              log(Severity::info, "child");
              telemetry.shutdown();
            }),
            0);
  telemetry.shutdown();
  const RecordedLogs logs = read_logs(directory.path());
  EXPECT_EQ(logs.files.size(), 2u);
  EXPECT_EQ(logs.records.size(), 2u);
  logs.only("parent");
  logs.only("child");
}

// Contract: 6.logs-flush
TEST(Logs, GoWithAFlushAndAtShutdown) {
  TemporaryDirectory directory;
  Config config = logging_config(directory.path());
  config.standard.log_batch.schedule_delay = std::chrono::hours(1);
  auto telemetry = setup_telemetry(config, {});
  log(Severity::info, "flushed");
  EXPECT_TRUE(telemetry.force_flush(std::chrono::seconds(60)));
  EXPECT_EQ(read_logs(directory.path()).records.size(), 1u);
  log(Severity::info, "at shutdown");
  telemetry.shutdown();
  EXPECT_EQ(read_logs(directory.path()).records.size(), 2u);
}

// Contract: 6.logs-flush
TEST(Logs, GoUnaskedWhenTheyHaveWaitedLongEnough) {
  TemporaryDirectory directory;
  Config config = logging_config(directory.path());
  config.standard.log_batch.schedule_delay = std::chrono::milliseconds(1);
  auto telemetry = setup_telemetry(config, {});
  log(Severity::info, "soon");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto is_written = [&] { return std::filesystem::file_size(read_logs(directory.path()).files.at(0)) > 0; };
  while (!is_written() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(is_written());
}

// Contract: 6.logs-full
TEST(Logs, ThatFindNoRoomAreCountedAndLeaveTheirRingToSpans) {
  constexpr int count = 20'000;
  std::vector<std::string> said;
  std::uint64_t dropped_spans = 1;
  const std::string body(8000, 'x');
  TemporaryDirectory directory;
  Config config = logging_config(directory.path());
  config.on_error = [&](std::string_view line) { said.emplace_back(line); };
  auto telemetry = setup_telemetry(config, {});
  for (int i = 0; i < count; ++i) {
    if (i % 100 == 0) auto step = managed_span(SpanGroup::step, "step");
    log(Severity::info, body);
  }
  telemetry.shutdown();
  dropped_spans = telemetry.counters().spans_dropped;
  const RecordedLogs logs = read_logs(directory.path());
  const std::size_t lost = count - logs.records.size();
  ASSERT_GT(lost, 0u) << "the ring never was full";
  EXPECT_EQ(dropped_spans, 0u);
  EXPECT_EQ(logs.trace.count("step"), 200u);
  EXPECT_THAT(said, testing::Contains("telemetry lost " + std::to_string(lost) + " of 20000 log records: " +
                                      std::to_string(lost) + " (no room in a ring of their thread)"));
}

// Contract: 6.logs-none
TEST(Logs, ThatAreOnAndNeverMadeAreSpokenOf) {
  std::vector<std::string> said;
  record_logs([] {},
              [&](Config& config) { config.on_error = [&said](std::string_view line) { said.emplace_back(line); }; });
  EXPECT_THAT(said, testing::ElementsAre(testing::HasSubstr("lens::spdlog_sink")));
}

}  // namespace
}  // namespace lens::tests
