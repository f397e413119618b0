// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

TEST(ScopesClosedOutOfOrder, AreRight) {
  const RecordedTrace trace = record([] {
    auto root = open_scope(SpanGroup::job, "root");
    auto a = open_scope(SpanGroup::job, "a");
    auto b = open_scope(SpanGroup::job, "b");
    auto c = open_scope(SpanGroup::job, "c");
    b.reset();
    EXPECT_EQ(current_context(), c->context());
    { auto under_c = managed_span(SpanGroup::step, "under c"); }
    a.reset();
    EXPECT_EQ(current_context(), c->context());
    c.reset();
    EXPECT_EQ(current_context(), root->context());
    { auto under_root = managed_span(SpanGroup::step, "under root"); }
    root.reset();
    EXPECT_FALSE(current_context());
    auto alone = managed_span(SpanGroup::step, "alone");
  });
  EXPECT_EQ(trace.only("a").parent_id, trace.only("root").span_id);
  EXPECT_EQ(trace.only("b").parent_id, trace.only("a").span_id);
  EXPECT_EQ(trace.only("c").parent_id, trace.only("b").span_id);
  EXPECT_EQ(trace.only("under c").parent_id, trace.only("c").span_id);
  EXPECT_EQ(trace.only("under root").parent_id, trace.only("root").span_id);
  EXPECT_EQ(trace.only("alone").parent_id, "");
  EXPECT_LE(trace.only("b").end_ns, trace.only("a").end_ns);
  EXPECT_LE(trace.only("a").end_ns, trace.only("c").end_ns);
  for (const RecordedSpan& span : trace.spans) EXPECT_FALSE(span.truncated()) << span.name;
}

TEST(ScopesClosedOutOfOrder, OldestFirst) {
  const RecordedTrace trace = record([] {
    std::vector<std::unique_ptr<ScopedSpan>> scopes;
    for (int i = 0; i < 50; ++i) scopes.push_back(open_scope(SpanGroup::job, std::to_string(i)));
    for (auto& scope : scopes) scope.reset();
    EXPECT_FALSE(current_context());
  });
  for (int i = 1; i < 50; ++i)
    EXPECT_EQ(trace.only(std::to_string(i)).parent_id, trace.only(std::to_string(i - 1)).span_id);
}

// Any order of ends, interleaved with begins: each span's parent is what was current when it began.
TEST(ScopesClosedOutOfOrder, InEveryOrder) {
  std::map<std::string, std::string> parents;
  const RecordedTrace trace = record([&] {
    std::vector<std::unique_ptr<ScopedSpan>> open;
    std::uint32_t random = 1;
    for (int i = 0; i < 3000; ++i) {
      random = random * 1664525 + 1013904223;
      if (open.size() < 2 || (random >> 16) % 2 == 0) {
        const std::string name = "span " + std::to_string(i);
        const SpanContext parent = current_context();
        open.push_back(open_scope(SpanGroup::step, name));
        parents[name] = parent ? parent.span_id.hex() : "";
        EXPECT_EQ(current_context(), open.back()->context());
      } else {
        open.erase(open.begin() + (random >> 20) % open.size());
        EXPECT_EQ(current_context(), open.back()->context());
      }
    }
    while (!open.empty()) open.pop_back();
  });
  EXPECT_EQ(trace.spans.size(), parents.size());
  for (const RecordedSpan& span : trace.spans) EXPECT_EQ(span.parent_id, parents.at(span.name)) << span.name;
}

TEST(ScopeClosedOnAnotherThread, IsRight) {
  const RecordedTrace trace = record([] {
    auto root = managed_span(SpanGroup::job, "root");
    auto moved = open_scope(SpanGroup::step, "moved");
    { auto child = managed_span(SpanGroup::step, "child"); }
    std::thread([&] {
      auto other = managed_span(SpanGroup::step, "other");
      moved->set(attribute("where", "there"));
      moved.reset();
      EXPECT_EQ(current_context(), other.context());
    }).join();
  });
  const RecordedSpan& moved = trace.only("moved");
  EXPECT_FALSE(moved.truncated());
  EXPECT_EQ(moved.at<std::string>("where"), "there");
  EXPECT_EQ(moved.parent_id, trace.only("root").span_id);
  EXPECT_EQ(trace.only("child").parent_id, moved.span_id);
  EXPECT_EQ(trace.only("other").parent_id, "");
  EXPECT_GE(moved.end_ns, trace.only("child").end_ns);
}

TEST(ScopeClosedOnAnotherThread, IsNoLongerCurrentOnItsOwn) {
  const RecordedTrace trace = record([] {
    auto moved = open_scope(SpanGroup::job, "moved");
    std::thread([&] { moved.reset(); }).join();
    EXPECT_FALSE(current_context());
    EXPECT_TRUE(graceful_drain(std::chrono::seconds(60)));  // until then a new span still nests under it
    auto next = managed_span(SpanGroup::step, "next");
    EXPECT_EQ(current_context(), next.context());
    next.set(attribute("trace", next.context().trace_id.hex()));
  });
  EXPECT_EQ(trace.only("next").parent_id, "");
  EXPECT_EQ(trace.only("next").at<std::string>("trace"), trace.only("next").trace_id);
}

TEST(ScopeClosedOnAnotherThread, UnderYoungerOnesOfItsOwn) {
  const RecordedTrace trace = record([] {
    auto root = managed_span(SpanGroup::job, "root");
    auto moved = open_scope(SpanGroup::job, "moved");
    {
      auto young = managed_span(SpanGroup::step, "young");
      std::thread([&] { moved.reset(); }).join();
      EXPECT_EQ(current_context(), young.context());
    }
    EXPECT_EQ(current_context(), root.context());
  });
  EXPECT_EQ(trace.only("young").parent_id, trace.only("moved").span_id);
  EXPECT_FALSE(trace.only("moved").truncated());
}

TEST(ScopeClosedOnAnotherThread, AfterItsThreadHasGone) {
  const RecordedTrace trace = record([] {
    std::unique_ptr<ScopedSpan> orphan;
    std::thread([&] { orphan = open_scope(SpanGroup::step, "orphan"); }).join();
    std::thread([&] {
      // Most likely in the ring that the gone thread left.
      auto newcomer = managed_span(SpanGroup::step, "newcomer");
      orphan.reset();
    }).join();
  });
  EXPECT_FALSE(trace.only("orphan").truncated());
  EXPECT_FALSE(trace.only("newcomer").truncated());
  EXPECT_EQ(trace.only("newcomer").parent_id, "");
}

}  // namespace
}  // namespace lens::tests
