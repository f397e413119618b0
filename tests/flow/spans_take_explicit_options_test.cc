// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/flow/recorded_trace.h"
#include "tests/support/foreign_context.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
using namespace std::chrono_literals;

constexpr std::uint64_t second_ns = 1'000'000'000;
const SystemTime began{1'700'000'000s};

// Contract: 4.parent
TEST(Spans, TakeAnExplicitParent) {
  const RecordedTrace trace = record([] {
    auto current = managed_span(SpanGroup::job, "current");
    auto handle = start_span(SpanGroup::step, "handle", {.parent = foreign_context()});
    auto scope = managed_span(SpanGroup::step, "scope", {.parent = foreign_context()});
    EXPECT_EQ(scope.context().trace_id, foreign_context().trace_id);
    auto child = managed_span(SpanGroup::step, "child");
    EXPECT_EQ(child.context().trace_id, foreign_context().trace_id);
    EXPECT_EQ(child.context().flags, SpanContext::sampled);
  });
  for (const char* name : {"handle", "scope"}) {
    EXPECT_EQ(trace.only(name).parent_id, "cdcdcdcdcdcdcdcd");
    EXPECT_EQ(trace.only(name).trace_id, std::string(foreign_context().trace_id.hex()));
    EXPECT_EQ(trace.only(name).flags, 0x301u);  // known to be remote, sampled
  }
  EXPECT_EQ(trace.only("child").parent_id, trace.only("scope").span_id);
  EXPECT_EQ(trace.only("child").trace_id, trace.only("scope").trace_id);
  EXPECT_EQ(trace.only("current").parent_id, "");
}

// Contract: 4.parent
TEST(Spans, SayWhetherTheirParentIsOfThisProcess) {
  constexpr std::uint32_t of_this_process = 0x103, remote = 0x301;  // known to be, and the parent's trace flags
  const RecordedTrace trace = record([] {
    auto step = managed_span(SpanGroup::step, "step");
    auto explicit_parent = managed_span(SpanGroup::step, "below step", {.parent = step.context()});
    {
      ActiveScope of_step(step.context());
      auto active = managed_span(SpanGroup::step, "in step");
    }
    ActiveScope of_another(foreign_context());
    auto active = managed_span(SpanGroup::step, "in another");
    auto child = managed_span(SpanGroup::step, "child");
  });
  EXPECT_EQ(trace.only("below step").flags, of_this_process);
  EXPECT_EQ(trace.only("in step").flags, of_this_process);
  EXPECT_EQ(trace.only("in another").flags, remote);
  EXPECT_EQ(trace.only("child").flags, 0x101u);
}

// Contract: 4.parent
TEST(Spans, AreRootsWhenAskedTo) {
  const RecordedTrace trace = record([] {
    auto current = managed_span(SpanGroup::job, "current");
    auto handle = start_span(SpanGroup::step, "handle", {.root = true});
    {
      auto root = managed_span(SpanGroup::step, "root", {.root = true});
      EXPECT_NE(root.context().trace_id, current.context().trace_id);
      EXPECT_EQ(current_context(), root.context());
      auto child = managed_span(SpanGroup::step, "child");
      EXPECT_EQ(child.context().trace_id, root.context().trace_id);
      EXPECT_EQ(current.context().trace_id.hex(), current.context().trace_id.hex());
    }
    auto after = managed_span(SpanGroup::step, "after");
    EXPECT_EQ(after.context().trace_id, current.context().trace_id);
  });
  EXPECT_EQ(trace.only("root").parent_id, "");
  EXPECT_EQ(trace.only("handle").parent_id, "");
  EXPECT_EQ(trace.only("child").trace_id, trace.only("root").trace_id);
  EXPECT_EQ(trace.only("child").parent_id, trace.only("root").span_id);
  EXPECT_EQ(trace.only("after").parent_id, trace.only("current").span_id);
  EXPECT_EQ(trace.only("after").trace_id, trace.only("current").trace_id);
}

TEST(Spans, KnowTheirContextUnderAScopeOfAnotherTrace) {
  SpanContext outer_context;
  const RecordedTrace trace = record([&] {
    auto outer = managed_span(SpanGroup::job, "outer");
    auto root = managed_span(SpanGroup::step, "root", {.root = true});
    auto inner = managed_span(SpanGroup::step, "inner", {.parent = foreign_context()});
    outer_context = outer.context();
    EXPECT_EQ(root.context().trace_id == inner.context().trace_id, false);
  });
  EXPECT_EQ(outer_context.trace_id.hex(), trace.only("outer").trace_id);
}

// Contract: 4.links-kinds
TEST(Spans, HaveKindsAndLinks) {
  const RecordedTrace trace = record([] {
    auto internal = managed_span(SpanGroup::step, "internal");
    auto server = managed_span(SpanGroup::step, "server", {.kind = SpanKind::server, .links = {foreign_context()}});
    server.add_link(internal.context());
    server.add_link(SpanContext{});
    auto client = start_span(SpanGroup::step, "client", {.kind = SpanKind::client});
    auto producer = start_span(SpanGroup::step, "producer", {.kind = SpanKind::producer});
    auto consumer =
        start_span(SpanGroup::step, "consumer", {.kind = SpanKind::consumer}, "group"_a = "g", "name"_a = "n");
  });
  EXPECT_EQ(trace.only("internal").kind, 1);
  EXPECT_EQ(trace.only("server").kind, 2);
  EXPECT_EQ(trace.only("client").kind, 3);
  EXPECT_EQ(trace.only("producer").kind, 4);
  EXPECT_EQ(trace.only("consumer").kind, 5);
  EXPECT_EQ(trace.only("consumer").at<std::string>("name"), "n");
  const std::vector<RecordedLink>& links = trace.only("server").links;
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].span_id, "cdcdcdcdcdcdcdcd");
  EXPECT_EQ(links[0].flags, 1u);
  EXPECT_EQ(links[1].span_id, trace.only("internal").span_id);
  EXPECT_EQ(links[1].trace_id, trace.only("internal").trace_id);
}

// Contract: 4.times
TEST(Spans, AreRecordedAfterTheFact) {
  const RecordedTrace trace = record([] {
    auto job = managed_span(SpanGroup::job, "job");
    record_span(SpanGroup::model_init, "startup.imports", began, began + 2s, "modules"_a = 12);
    auto accepted = start_span(SpanGroup::step, "accepted earlier", {.start = began});
    accepted.end();
    auto scope = managed_span(SpanGroup::step, "scope from then", {.start = began});
  });
  const RecordedSpan& imports = trace.only("startup.imports");
  EXPECT_EQ(imports.start_ns, 1'700'000'000 * second_ns);
  EXPECT_EQ(imports.end_ns, 1'700'000'002 * second_ns);
  EXPECT_EQ(imports.at<std::int64_t>("modules"), 12);
  EXPECT_EQ(imports.parent_id, trace.only("job").span_id);
  EXPECT_FALSE(imports.has("nemo.span.inverted"));
  for (const char* name : {"accepted earlier", "scope from then"}) {
    EXPECT_EQ(trace.only(name).start_ns, 1'700'000'000 * second_ns);
    EXPECT_GE(trace.only(name).end_ns, trace.only("job").start_ns);
  }
}

// Contract: 4.times
TEST(SpanThatEndsBeforeItStarts, IsOfZeroLengthAndMarked) {
  const RecordedTrace trace = record([] { record_span(SpanGroup::step, "inverted", began, began - 5s); });
  const RecordedSpan& span = trace.only("inverted");
  EXPECT_EQ(span.start_ns, 1'700'000'000 * second_ns);
  EXPECT_EQ(span.end_ns, span.start_ns);
  EXPECT_TRUE(span.at<bool>("nemo.span.inverted"));
}

// Contract: 4.times
TEST(SpanThatStartsAfterItEnds, IsOfZeroLengthAndMarked) {
  const SystemTime later = std::chrono::system_clock::now() + 1h;
  const RecordedTrace trace = record([&] {
    { auto scope = managed_span(SpanGroup::step, "scope", {.start = later}); }
    auto open = start_span(SpanGroup::step, "open at shutdown", {.start = later});
    static auto never_ended = std::move(open);
  });
  for (const char* name : {"scope", "open at shutdown"}) {
    EXPECT_EQ(trace.only(name).end_ns, trace.only(name).start_ns);
    EXPECT_TRUE(trace.only(name).at<bool>("nemo.span.inverted"));
  }
}

TEST(StartBefore1970, IsTheFirstMomentThatTheFormatKnows) {
  const RecordedTrace trace = record([] { record_span(SpanGroup::step, "old", SystemTime() - 5s, SystemTime() + 1s); });
  EXPECT_EQ(trace.only("old").start_ns, 0u);
  EXPECT_EQ(trace.only("old").end_ns, 1 * second_ns);
}

// Contract: 4.links-kinds
TEST(LinkToNoSpan, IsNone) {
  const RecordedTrace trace = record([] { auto span = managed_span(SpanGroup::step, "step", {.links = {{}, {}}}); });
  EXPECT_TRUE(trace.only("step").links.empty());
  EXPECT_EQ(trace.only("step").dropped_links, 0u);
}

}  // namespace
}  // namespace lens::tests
