// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

// Contract: 4.handle
TEST(Handles, CrossThreads) {
  const RecordedTrace trace = record([] {
    auto accept = managed_span(SpanGroup::job, "accept");
    SpanHandle request = start_span(SpanGroup::step, "request", {.kind = SpanKind::server}, "size"_a = 3);
    EXPECT_EQ(current_context(), accept.context());
    std::thread([request = std::move(request)]() mutable {
      {
        const auto scope = request.activate();
        EXPECT_EQ(current_context(), request.context());
        auto work = managed_span(SpanGroup::step, "work");
      }
      EXPECT_FALSE(current_context());
      request.set("size"_a = 4);
      request.add_event("answered");
      request.end();
      EXPECT_FALSE(request);
      request.set("after the end"_a = true);
    }).join();
  });
  const RecordedSpan& request = trace.only("request");
  EXPECT_EQ(request.parent_id, trace.only("accept").span_id);
  EXPECT_EQ(request.kind, 2);
  EXPECT_EQ(request.attributes, (Attributes{{"size", std::int64_t{4}}}));
  ASSERT_EQ(request.events.size(), 1u);
  EXPECT_EQ(request.events[0].name, "answered");
  EXPECT_FALSE(request.truncated());
  EXPECT_EQ(trace.only("work").parent_id, request.span_id);
  EXPECT_EQ(trace.only("work").trace_id, request.trace_id);
}

TEST(Handles, TakeWhatAnotherThreadSaysBeforeTheirOwnerEndsThem) {
  const RecordedTrace trace = record([] {
    for (int i = 0; i < 200; ++i) {
      SpanHandle request = start_span(SpanGroup::step, "request");
      std::thread([&] { request.set("answer"_a = i); }).join();
      request.end();
    }
  });
  EXPECT_EQ(trace.count("request"), 200u);
  for (const RecordedSpan& span : trace.spans) EXPECT_TRUE(span.has("answer"));
}

TEST(Handles, OfEqualKeysKeepTheLastWhateverThreadItCameFrom) {
  const RecordedTrace trace = record([] {
    for (int i = 0; i < 50; ++i) {
      SpanHandle request = start_span(SpanGroup::step, "request");
      std::thread([&] { request.set("step"_a = 1); }).join();
      request.set("step"_a = 2);
      request.end();
    }
  });
  for (const RecordedSpan& span : trace.spans) EXPECT_EQ(span.at<std::int64_t>("step"), 2);
}

// Contract: L17
TEST(Handles, ThatNobodyEndsAreEndedByShutdown) {
  SpanHandle* left = nullptr;
  const RecordedTrace trace = record([&left] {
    left = new SpanHandle(start_span(SpanGroup::step, "left", {}, "n"_a = 1));
    { SpanHandle dropped = start_span(SpanGroup::step, "dropped"); }
    left->set("answer"_a = 2);
  });
  const RecordedSpan& span = trace.only("left");
  EXPECT_TRUE(span.truncated());
  EXPECT_EQ(span.status, 0);
  EXPECT_EQ(span.at<std::int64_t>("answer"), 2);
  EXPECT_FALSE(trace.only("dropped").truncated());  // its destructor is an end
  EXPECT_EQ(trace.counters->spans_truncated, 1u);
  const RecordedTrace next = record([&left] {
    delete left;  // ends nothing: shutdown has
    auto step = managed_span(SpanGroup::step, "step");
  });
  EXPECT_EQ(next.names(), "step");
  EXPECT_EQ(next.counters->spans_truncated, 0u);
}

// Contract: 4.handle
TEST(Handles, EndWhenTheyAreDestroyedOrReplaced) {
  const RecordedTrace trace = record([] {
    { SpanHandle dropped = start_span(SpanGroup::step, "dropped"); }
    SpanHandle handle = start_span(SpanGroup::step, "first");
    handle = start_span(SpanGroup::step, "second");
    SpanHandle moved = std::move(handle);
    EXPECT_FALSE(handle);
    EXPECT_TRUE(moved);
    moved.end();
    moved.end();
  });
  EXPECT_EQ(trace.names(), "dropped first second");
  EXPECT_LE(trace.only("first").end_ns, trace.only("second").end_ns);
  EXPECT_EQ(trace.counters->spans_truncated, 0u);
}

TEST(Handles, AreActivatedWithinEachOther) {
  const RecordedTrace trace = record([] {
    SpanHandle a = start_span(SpanGroup::step, "a", {.root = true});
    SpanHandle b = start_span(SpanGroup::step, "b", {.root = true});
    auto scope = managed_span(SpanGroup::job, "scope");
    {
      const auto in_a = a.activate();
      auto under_a = managed_span(SpanGroup::step, "under a");
      {
        const auto in_b = b.activate();
        auto under_b = managed_span(SpanGroup::step, "under b");
        EXPECT_EQ(under_b.context().trace_id, b.context().trace_id);
      }
      EXPECT_EQ(current_context(), under_a.context());
    }
    EXPECT_EQ(current_context(), scope.context());
  });
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(trace.only(std::string("under ") + name).parent_id, trace.only(name).span_id);
    EXPECT_EQ(trace.only(std::string("under ") + name).trace_id, trace.only(name).trace_id);
  }
  EXPECT_NE(trace.only("a").trace_id, trace.only("b").trace_id);
}

// Contract: 4.context-to-thread
TEST(CurrentContext, GoesAlongToAnotherThread) {
  const RecordedTrace trace = record([] {
    auto step = managed_span(SpanGroup::step, "step");
    auto task = with_current_context([](int x) {
      auto work = managed_span(SpanGroup::step, "work");
      auto inner = managed_span(SpanGroup::step, "inner");
      return x + 1;
    });
    EXPECT_EQ(std::async(std::launch::async, std::move(task), 1).get(), 2);
    std::thread([] { auto after = managed_span(SpanGroup::step, "after"); }).join();
  });
  EXPECT_EQ(trace.only("work").parent_id, trace.only("step").span_id);
  EXPECT_EQ(trace.only("work").trace_id, trace.only("step").trace_id);
  EXPECT_EQ(trace.only("inner").parent_id, trace.only("work").span_id);
  EXPECT_EQ(trace.only("after").parent_id, "");
  EXPECT_EQ(trace.spans.size(), 4u);
}

TEST(CurrentContext, OfNoSpanChangesNothing) {
  const RecordedTrace trace = record([] {
    auto task = with_current_context([] { auto work = managed_span(SpanGroup::step, "work"); });
    auto scope = managed_span(SpanGroup::job, "scope");
    task();
  });
  EXPECT_EQ(trace.only("work").parent_id, trace.only("scope").span_id);
}

}  // namespace
}  // namespace lens::tests
