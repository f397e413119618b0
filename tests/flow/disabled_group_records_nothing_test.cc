// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

// Contract: 1.disabled-site
TEST(DisabledGroup, RecordsNothing) {
  const RecordedTrace trace = record("job", [] {
    auto job = managed_span(SpanGroup::job, "job");
    auto step = managed_span(SpanGroup::step, "step", "loss"_a = 1.5);
    EXPECT_TRUE(job);
    EXPECT_FALSE(step);
    step.set("more"_a = 1);
    step.add_event("event");
    step.add_link(job.context());
    step.set_status(StatusCode::error);
    EXPECT_FALSE(step.context());
    EXPECT_FALSE(start_span(SpanGroup::step, "handle"));
    record_span(SpanGroup::step, "backdated", SystemTime{}, SystemTime{});
    EXPECT_EQ(current_context(), job.context());
  });
  EXPECT_EQ(trace.names(), "job");
  EXPECT_TRUE(trace.only("job").attributes.empty());
}

// Contract: 1.disabled-site
TEST(DisabledGroup, DoesNotCallADeferredAttribute) {
  int calls = 0;
  const auto norm = [&calls] { return ++calls * 0.5; };
  const RecordedTrace trace = record("job", [&] {
    auto step = managed_span(SpanGroup::step, "step", "norm"_a = norm);
    step.set("norm"_a = norm);
    EXPECT_EQ(calls, 0);
    auto job = managed_span(SpanGroup::job, "job", "norm"_a = norm);
    EXPECT_EQ(calls, 1);
  });
  EXPECT_EQ(trace.only("job").at<double>("norm"), 0.5);
}

// Contract: 4.span-cm
TEST(DisabledGroup, LeavesTheUngatedSpanAlone) {
  EXPECT_EQ(record("job", [] { auto span = span_cm("ungated"); }).names(), "ungated");
}

// Contract: 1.run-time
TEST(GroupsChange, WhileTheProgramRuns) {
  const RecordedTrace trace = record("job", [] {
    EXPECT_TRUE(is_span_group_enabled("job"));
    EXPECT_FALSE(is_span_group_enabled("step"));
    auto begun = managed_span(SpanGroup::job, "begun");
    set_enabled_span_groups(SpanGroup::resolve("step"));
    EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
    EXPECT_TRUE(is_span_group_enabled(SpanGroup::step));
    EXPECT_EQ(enabled_span_groups(), SpanGroup::resolve("step"));
    auto late = managed_span(SpanGroup::job, "late");
    auto step = managed_span(SpanGroup::step, "step");
    EXPECT_FALSE(late);
  });
  EXPECT_EQ(trace.names(), "begun step");
  EXPECT_FALSE(trace.only("begun").truncated());
  EXPECT_EQ(trace.only("step").parent_id, trace.only("begun").span_id);
}

// Contract: 1.run-time
TEST(GroupsChange, FromAnotherThreadWithoutTearingASpan) {
  const RecordedTrace trace = record("job", [] {
    std::atomic<bool> done{false};
    std::thread operator_thread([&] {
      while (!done) {
        set_enabled_span_groups(SpanGroup::resolve("step"));
        set_enabled_span_groups(SpanGroup::resolve("job"));
      }
    });
    for (int i = 0; i < 20'000; ++i) {
      auto job = managed_span(SpanGroup::job, "job");
      auto step = managed_span(SpanGroup::step, "step");
    }
    done = true;
    operator_thread.join();
  });
  for (const RecordedSpan& span : trace.spans) EXPECT_FALSE(span.truncated());
}

// Contract: 1.gate
TEST(GroupsChange, HasNoEffectBeforeSetUpAndAfterShutdown) {
  set_enabled_span_groups(SpanGroup::resolve("all"));
  EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
  record([] { EXPECT_TRUE(is_span_group_enabled(SpanGroup::job)); });
  set_enabled_span_groups(SpanGroup::resolve("all"));
  EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
  EXPECT_TRUE(enabled_span_groups().empty());
}

// Contract: 4.trace-fn
TEST(TraceFn, AsksTheGroupAtEachCall) {
  int calls = 0;
  auto step = trace_fn(SpanGroup::step, "step", [&calls](int more) { return calls += more; });
  const RecordedTrace trace = record("job", [&] {
    step(1);
    set_enabled_span_groups(SpanGroup::resolve("step"));
    EXPECT_EQ(step(10), 11);
    set_enabled_span_groups({});
    step(100);
  });
  EXPECT_EQ(calls, 111);
  EXPECT_EQ(trace.names(), "step");
}

TEST(TraceFn, PassesReferencesResultsAndExceptions) {
  const RecordedTrace trace = record("step", [] {
    auto assign =
        trace_fn(SpanGroup::step, "assign", [](int& to, std::unique_ptr<int> from) -> int& { return to = *from; });
    int target = 0;
    EXPECT_EQ(&assign(target, std::make_unique<int>(7)), &target);
    EXPECT_EQ(target, 7);
    auto fail = trace_fn(SpanGroup::step, "fail", [] { throw std::runtime_error("no data"); });
    EXPECT_THROW(fail(), std::runtime_error);
  });
  EXPECT_EQ(trace.only("assign").status, 0);
  EXPECT_EQ(trace.only("fail").status, 2);
}

TEST(TraceFn, KeepsANameThatWasMadeAtRunTime) {
  const RecordedTrace trace = record("step", [] {
    auto name = std::make_unique<std::string>("a name on the heap, longer than a small string");
    auto step = trace_fn(SpanGroup::step, *name, [] {});
    name->assign(name->size(), '?');
    name.reset();
    step();
  });
  EXPECT_EQ(trace.names(), "a name on the heap, longer than a small string");
}

}  // namespace
}  // namespace lens::tests
