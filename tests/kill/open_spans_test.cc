// SPDX-License-Identifier: Apache-2.0
// Many spans that are open at once, and what a kill leaves of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <deque>
#include <map>
#include <thread>
#include <vector>

#include "tests/kill/child.h"
#include "tests/support/memory_use.h"
#include "tests/support/sanitized.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

constexpr std::chrono::seconds in_time{30};

/// Runs `body`, lets the pipeline take all out of the rings, and kills the process.
void record_and_be_killed(const Config& config, const std::function<void(const std::function<void()>& die)>& body) {
  Child child([&] {
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    body([&] {
      telemetry.force_flush(in_time);
      raise(SIGKILL);
    });
  });
  EXPECT_EQ(child.wait(), SIGKILL);
}

void open_handles(int count, const std::string& text, const std::function<void()>& die) {
  std::deque<SpanHandle> handles;
  for (int i = 0; i < count; ++i) {
    handles.push_back(start_span(SpanGroup::step, "request", {}, "n"_a = i, "text"_a = text));
    if (i % 10 == 9) graceful_drain(in_time);  // or they would not all fit the ring
  }
  die();
}

void nest_scopes(int depth, const std::function<void()>& die) {
  if (depth == 0) return die();
  auto scope = managed_span(SpanGroup::step, "scope", "depth"_a = depth, "text"_a = "sixteen letters.");
  nest_scopes(depth - 1, die);
}

// Contract: 3.sigkill-open
TEST(OpenSpans, FiveThousandOfOneThreadSurviveAKill) {
  constexpr int count = 5000;
  const RunPlace place;
  record_and_be_killed(place.config(), [](const auto& die) {
    std::deque<SpanHandle> handles;
    for (int i = 0; i < count; ++i) handles.push_back(start_span(SpanGroup::step, "request", {}, "n"_a = i));
    die();
  });
  place.recover();
  std::vector<bool> found(count);
  for (const RecordedSpan& span : place.trace().spans) {
    EXPECT_TRUE(span.truncated());
    found[std::size_t(span.at<std::int64_t>("n"))] = true;
  }
  EXPECT_THAT(found, testing::Each(true));
}

TEST(OpenSpans, AThousandNestedOnesSurviveAKill) {
  constexpr int count = 1000;
  const RunPlace place;
  record_and_be_killed(place.config(), [](const auto& die) { nest_scopes(count, die); });
  place.recover();
  const RecordedTrace trace = place.trace();
  ASSERT_EQ(trace.spans.size(), std::size_t{count});
  std::map<std::int64_t, const RecordedSpan*> by_depth;
  for (const RecordedSpan& span : trace.spans) by_depth[span.at<std::int64_t>("depth")] = &span;
  ASSERT_EQ(by_depth.size(), std::size_t{count});
  EXPECT_EQ(by_depth.at(count)->parent_id, "");
  for (int depth = 1; depth < count; ++depth) EXPECT_EQ(by_depth[depth]->parent_id, by_depth[depth + 1]->span_id);
}

// Contract: 3.sigkill-open
TEST(OpenSpans, ThatTakeMoreThanTheirListsAreThereAndSayWhatTheyLost) {
  constexpr int count = 100;
  const RunPlace place;
  record_and_be_killed(place.config(), [](const auto& die) { open_handles(count, std::string(60'000, 'x'), die); });
  std::vector<std::string> problems;
  for (trace::RingFile& file : trace::find_ring_files(place.rings(), "")) problems = trace::recover(file)->problems;
  EXPECT_THAT(problems, testing::ElementsAre(testing::StartsWith("ring 1: not all that was open found room; ")));
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.spans.size(), std::size_t{count});
  int whole = 0;
  for (const RecordedSpan& span : trace.spans) {
    EXPECT_EQ(span.dropped_attributes, span.has("text") ? 0u : 1u);
    whole += span.has("text");
  }
  EXPECT_GT(whole, 10);  // a list takes a megabyte
  EXPECT_LT(whole, 20);
}

TEST(OpenSpans, GiveTheirMemoryBackWhenTheyEnd) {
  const RunPlace place;
  struct Bytes {
    std::uint64_t before, most, after;
  };
  const Shared<Bytes> bytes;
  Child child([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    { auto first = managed_span(SpanGroup::job, "the first makes the ring"); }
    bytes->before = allocated_bytes_in(place.rings());
    {
      std::deque<SpanHandle> handles;
      for (int i = 0; i < 5000; ++i) handles.push_back(start_span(SpanGroup::step, "request", {}, "n"_a = i));
      telemetry.force_flush(in_time);
      bytes->most = allocated_bytes_in(place.rings());
    }
    for (int i = 0; i < 4; ++i) {  // both lists are written anew
      { auto later = managed_span(SpanGroup::job, "later"); }
      telemetry.force_flush(in_time);
    }
    bytes->after = allocated_bytes_in(place.rings());
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GT(bytes->most, bytes->before + (256 << 10));
  EXPECT_LE(bytes->after, bytes->before + (16 << 10));
}

constexpr std::uint64_t most_bytes = 16 << 20;

/// What a process that leaves spans open takes of memory, and what became of them.
struct OpenCost {
  std::uint64_t shared, most_private;
  std::uint64_t recorded, dropped;
  int said;  // that spans are dropped
};

/// `threads` of them open `count` spans each, with an attribute.
OpenCost cost_of_open(const RunPlace& place, int threads, int count) {
  const Shared<OpenCost> cost;
  Child child([&] {
    // The handles are the program's, and have their memory before telemetry comes.
    std::vector<std::vector<SpanHandle>> handles;
    for (int i = 0; i < threads; ++i) handles.emplace_back(std::size_t(count));
    const std::uint64_t before = private_bytes();
    Config config = place.config();
    config.on_error = [&](std::string_view line) { cost->said += line.starts_with("more spans are open than"); };
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    const auto measure = [&] { cost->most_private = std::max(cost->most_private, private_bytes() - before); };
    std::vector<std::jthread> openers;
    std::barrier opened(threads + 1);
    for (std::vector<SpanHandle>& own : handles) {
      openers.emplace_back([&] {
        for (std::size_t i = 0; i < own.size(); ++i) {
          own[i] = start_span(SpanGroup::step, "request", {}, "n"_a = i);
          if (i % 1000 == 999) graceful_drain(in_time);  // or they would not all fit the ring
        }
        opened.arrive_and_wait();
        opened.arrive_and_wait();
      });
    }
    opened.arrive_and_wait();
    telemetry.force_flush(in_time);
    measure();
    cost->shared = allocated_bytes_in(place.rings());
    opened.arrive_and_wait();
    openers.clear();
    for (std::vector<SpanHandle>& own : handles) {
      for (SpanHandle& handle : own) {
        handle.end();
        if (&handle - own.data() > 0 && (&handle - own.data()) % 1000 == 0) telemetry.force_flush(in_time);
      }
    }
    telemetry.force_flush(in_time);
    measure();
    { auto later = managed_span(SpanGroup::job, "later"); }
    telemetry.shutdown(in_time);
    cost->recorded = telemetry.counters().spans_recorded;
    cost->dropped = telemetry.counters().spans_dropped;
    measure();
  });
  EXPECT_EQ(child.wait(), 0);
  return *cost;
}

// Contract: 3.open-bounded
TEST(OpenSpans, OfEightThreadsStayWithinSixteenMegabytesWithAllElse) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's own memory is counted";
  constexpr int threads = 8, count = 6000;
  const RunPlace place;
  const OpenCost cost = cost_of_open(place, threads, count);
  EXPECT_LE(cost.shared + cost.most_private, most_bytes) << cost.shared << " shared, " << cost.most_private;
  EXPECT_EQ(cost.dropped, 0u);
  EXPECT_EQ(cost.said, 0);
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.spans.size(), std::size_t{threads * count + 1});
  for (const RecordedSpan& span : trace.spans) ASSERT_EQ(span.dropped_attributes, 0u);
}

// Contract: 3.open-bounded
TEST(OpenSpans, ThatThereIsNoMemoryForAreDroppedAndCounted) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's own memory is counted";
  constexpr int count = 150'000;
  const RunPlace place;
  const OpenCost cost = cost_of_open(place, 1, count);
  EXPECT_LE(cost.shared + cost.most_private, most_bytes) << cost.shared << " shared, " << cost.most_private;
  EXPECT_GT(cost.dropped, 50'000u);
  EXPECT_EQ(cost.said, 1);
  EXPECT_GT(cost.recorded, 50'000u);
  EXPECT_EQ(cost.recorded + cost.dropped, std::uint64_t{count} + 1);
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.spans.size(), cost.recorded);
  EXPECT_EQ(trace.count("later"), 1u);  // there is room again
}

// A job's span is told something at each step, for weeks.
TEST(OpenSpans, ThatAreToldTheSameForLongTakeNoMoreMemory) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's own memory is counted";
  constexpr int rounds = 300'000;
  const RunPlace place;
  const Shared<std::uint64_t> growth;
  Child child([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    auto job = managed_span(SpanGroup::job, "job");
    std::uint64_t before = 0;
    for (int i = 0; i < rounds; ++i) {
      job.set("iteration"_a = i);
      job.add_event("step", "n"_a = i);
      if (i % 1000 == 999) graceful_drain(in_time);
      if (i == 1000) before = private_bytes();
    }
    *growth = private_bytes() - before;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_LE(*growth, 256u << 10);
  const RecordedTrace trace = place.trace();
  const RecordedSpan& job = trace.only("job");
  EXPECT_EQ(job.at<std::int64_t>("iteration"), rounds - 1);
  EXPECT_EQ(job.events.size(), 128u);
  EXPECT_EQ(job.dropped_events, std::uint32_t{rounds - 128});
  EXPECT_EQ(job.dropped_attributes, 0u);
}

}  // namespace
}  // namespace lens::tests
