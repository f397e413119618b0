// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <thread>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

// Contract: 4.nesting
TEST(Spans, NestByThread) {
  const RecordedTrace trace = record([] {
    auto outer = managed_span(SpanGroup::job, "outer");
    {
      auto middle = managed_span(SpanGroup::step, "middle");
      auto inner = managed_span(SpanGroup::optimizer, "inner");
    }
    auto second = managed_span(SpanGroup::step, "second");
    std::thread([] { auto other = managed_span(SpanGroup::step, "other"); }).join();
  });
  const RecordedSpan& outer = trace.only("outer");
  EXPECT_EQ(outer.parent_id, "");
  EXPECT_EQ(trace.only("middle").parent_id, outer.span_id);
  EXPECT_EQ(trace.only("inner").parent_id, trace.only("middle").span_id);
  EXPECT_EQ(trace.only("second").parent_id, outer.span_id);
  for (const char* name : {"middle", "inner", "second"}) EXPECT_EQ(trace.only(name).trace_id, outer.trace_id);
  EXPECT_EQ(trace.only("other").parent_id, "");
  EXPECT_NE(trace.only("other").trace_id, outer.trace_id);
}

TEST(Spans, LieWithinTheirParentsTime) {
  using namespace std::chrono;
  const auto now_ns = [] {
    return std::uint64_t(duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
  };
  const std::uint64_t before = now_ns();
  const RecordedTrace trace = record([] {
    auto outer = managed_span(SpanGroup::job, "outer");
    for (int i = 0; i < 1000; ++i) auto inner = managed_span(SpanGroup::step, "inner");
  });
  const std::uint64_t after = now_ns();
  constexpr std::uint64_t clock_error_ns = 50'000;
  const RecordedSpan& outer = trace.only("outer");
  EXPECT_GE(outer.start_ns + clock_error_ns, before);
  EXPECT_LE(outer.end_ns, after + clock_error_ns);
  std::uint64_t last_end = outer.start_ns;
  for (const RecordedSpan& span : trace.spans) {
    if (span.name == "outer") continue;
    EXPECT_GE(span.start_ns, last_end);
    EXPECT_LE(span.start_ns, span.end_ns);
    last_end = span.end_ns;
  }
  EXPECT_LE(last_end, outer.end_ns);
}

TEST(Spans, EachRootBeginsATraceOfItsOwn) {
  const RecordedTrace trace = record([] {
    for (int i = 0; i < 100; ++i) auto root = managed_span(SpanGroup::job, "root");
  });
  std::set<std::string> traces;
  for (const RecordedSpan& span : trace.spans) traces.insert(span.trace_id);
  EXPECT_EQ(traces.size(), 100u);
}

TEST(Spans, HaveTheContextThatTheProgramWasGiven) {
  std::vector<std::pair<std::string, SpanContext>> given;
  const RecordedTrace trace = record([&] {
    EXPECT_FALSE(current_context());
    auto outer = managed_span(SpanGroup::job, "outer");
    given.emplace_back("outer", current_context());
    {
      auto inner = managed_span(SpanGroup::step, "inner");
      given.emplace_back("inner", current_context());
      given.emplace_back("outer", outer.context());
      given.emplace_back("inner", inner.context());
    }
    given.emplace_back("outer", current_context());
  });
  for (const auto& [name, context] : given) {
    EXPECT_EQ(context.span_id.hex(), trace.only(name).span_id) << name;
    EXPECT_EQ(context.trace_id.hex(), trace.only(name).trace_id) << name;
    EXPECT_EQ(context.flags, 3);
    EXPECT_EQ(trace.only(name).flags & 0xffu, 3u);
  }
  EXPECT_EQ(trace.only("inner").flags, 0x103u);  // the parent is known to be local
}

TEST(Spans, OfManyThreadsNeverMix) {
  constexpr int thread_count = 8, span_count = 500;
  const RecordedTrace trace = record([] {
    std::barrier start(thread_count);
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t)
      threads.emplace_back([t, &start] {
        start.arrive_and_wait();
        for (int i = 0; i < span_count; ++i) {
          auto outer = managed_span(SpanGroup::step, "outer", attribute("thread", t));
          auto inner = managed_span(SpanGroup::optimizer, "inner", attribute("thread", t));
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
  std::map<std::string, std::int64_t> outer;
  for (const RecordedSpan& span : trace.spans)
    if (span.name == "outer") outer[span.span_id] = span.at<std::int64_t>("thread");
  EXPECT_EQ(outer.size(), std::size_t{thread_count} * span_count);
  std::size_t inner_count = 0;
  for (const RecordedSpan& span : trace.spans) {
    if (span.name != "inner") continue;
    ++inner_count;
    ASSERT_TRUE(outer.contains(span.parent_id));
    EXPECT_EQ(outer[span.parent_id], span.at<std::int64_t>("thread"));
  }
  EXPECT_EQ(inner_count, outer.size());
  EXPECT_EQ(trace.counters->spans_dropped, 0u);
}

}  // namespace
}  // namespace lens::tests
