// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

constexpr std::uint8_t kept = SpanContext::sampled | SpanContext::random_trace_id;
constexpr std::uint8_t not_kept = SpanContext::random_trace_id;

RecordedTrace record_with(const std::string& sampler, double ratio, const std::function<void()>& body) {
  return record(body, [&](Config& config) {
    config.standard.traces_sampler = sampler;
    config.standard.traces_sampler_ratio = ratio;
  });
}

SpanContext foreign_context(std::uint8_t flags) {
  SpanContext context;
  context.trace_id.bytes.fill(0xab);
  context.span_id.bytes.fill(0xcd);
  context.flags = flags;
  return context;
}

// Contract: 2.trace-sampler, 2.sampled-out
TEST(RatioSampler, KeepsTracesWholeAndCountsTheOthersApart) {
  constexpr int trace_count = 400;
  std::map<std::string, std::uint8_t> flags;
  const RecordedTrace trace = record_with("traceidratio", 0.5, [&] {
    for (int i = 0; i < trace_count; ++i) {
      auto root = managed_span(SpanGroup::job, "root");
      auto child = managed_span(SpanGroup::step, "child");
      EXPECT_EQ(child.context().flags, root.context().flags);
      flags[root.context().trace_id.hex()] = current_context().flags;
    }
  });
  EXPECT_EQ(trace.count("root"), trace.count("child"));
  EXPECT_GT(trace.count("root"), trace_count / 4u);
  EXPECT_LT(trace.count("root"), trace_count * 3 / 4u);
  for (const RecordedSpan& span : trace.spans) EXPECT_EQ(flags.at(span.trace_id), kept);
  EXPECT_EQ(std::ranges::count(flags, kept, [](const auto& entry) { return entry.second; }), trace.count("root"));
  EXPECT_EQ(trace.counters->spans_recorded, 2u * trace_count);
  EXPECT_EQ(trace.counters->spans_sampled_out, 2u * trace_count - trace.spans.size());
  EXPECT_EQ(trace.counters->spans_exported, trace.spans.size());
  EXPECT_EQ(trace.counters->spans_dropped, 0u);
}

// Contract: 2.parent-based
TEST(ParentBasedSampler, KeepsWhatHasAParentThatWasKept) {
  for (const char* sampler : {"parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}) {
    const RecordedTrace trace = record_with(sampler, 0.0, [&] {
      auto of_kept = managed_span(SpanGroup::step, "of kept", {.parent = foreign_context(kept)});
      auto below = managed_span(SpanGroup::step, "below");
      EXPECT_EQ(below.context().flags, kept);
      auto of_other = managed_span(SpanGroup::step, "of other", {.parent = foreign_context(not_kept)});
      EXPECT_EQ(of_other.context().flags, not_kept);
      auto handle = start_span(SpanGroup::step, "handle", {.parent = foreign_context(not_kept)});
      EXPECT_EQ(handle.context().flags, not_kept);
      auto root = managed_span(SpanGroup::step, "root", {.root = true});
      EXPECT_EQ(root.context().flags, sampler == std::string("parentbased_always_on") ? kept : not_kept);
    });
    const bool keeps_roots = sampler == std::string("parentbased_always_on");
    EXPECT_EQ(trace.names(), keeps_roots ? "below of kept root" : "below of kept") << sampler;
  }
}

// Contract: 2.parent-based
TEST(SamplerThatIsNotParentBased, TakesNoNoticeOfAForeignParent) {
  const RecordedTrace on = record_with("always_on", 1.0, [] {
    auto scope = managed_span(SpanGroup::step, "scope", {.parent = foreign_context(0)});
    EXPECT_EQ(scope.context().flags, SpanContext::sampled);
    ActiveScope remote(foreign_context(0));
    auto child = managed_span(SpanGroup::step, "child");
    EXPECT_EQ(child.context().flags, SpanContext::sampled);
  });
  EXPECT_EQ(on.names(), "child scope");
  const RecordedTrace none = record_with("traceidratio", 0.01, [] {
    auto scope = managed_span(SpanGroup::step, "scope", {.parent = foreign_context(kept)});
    EXPECT_EQ(scope.context().flags, not_kept);
  });
  EXPECT_EQ(none.names(), "");
}

// Contract: 2.trace-sampler
TEST(AlwaysOffSampler, TurnsTheGroupsOff) {
  const RecordedTrace trace = record_with("always_off", 1.0, [] {
    EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
    EXPECT_FALSE(span_cm("ungated"));
  });
  EXPECT_TRUE(trace.spans.empty());
}

}  // namespace
}  // namespace lens::tests
