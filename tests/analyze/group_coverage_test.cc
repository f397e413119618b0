// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/group_coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "src/otlp/json.h"
#include "tests/export/spans.h"
#include "tests/support/temporary_directory.h"

namespace lens::analyze {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GroupCoverageTest : public testing::Test {
 protected:
  /// A trace of these spans, of a run that was told `spec`.
  trace::Trace trace_of(const std::vector<std::string>& names, const std::string& spec) {
    std::string spans, lines;
    for (const std::string& name : names)
      spans +=
          tests::bytes_field(2, tests::message({tests::bytes_field(1, tests::trace_id),
                                                tests::bytes_field(2, tests::span_id), tests::bytes_field(5, name)}));
    otlp::append_json(lines, Signal::traces, tests::envelope_of("svc").request(spans));
    directory.write("traces-rank0.jsonl", lines + '\n');
    if (!spec.empty()) trace::write_run_file(directory.path(), {.run_id = "r", .command = {}, .span_groups = spec});
    return trace::open_trace(directory.path());
  }

  tests::TemporaryDirectory directory;
};

TEST_F(GroupCoverageTest, IsToldByTheNamesOfMegatronsSpans) {
  const auto coverage = group_coverage(trace_of({"megatron.train_step", "megatron.train_step"}, "step,evaluate"), "job",
                                       SpanGroup::vocabulary());
  EXPECT_EQ(coverage.spec, "step,evaluate");
  EXPECT_THAT(coverage.hit, ElementsAre("step"));
  EXPECT_THAT(coverage.never_hit, ElementsAre("evaluate"));
  EXPECT_THAT(coverage.unknown, IsEmpty());
}

TEST_F(GroupCoverageTest, IsNotKnownOfSpansThatHaveNamesOfTheProgramsOwn) {
  const auto coverage = group_coverage(trace_of({"megatron.train_step", "mine"}, "step,evaluate,inference"), "job",
                                       SpanGroup::vocabulary());
  EXPECT_THAT(coverage.hit, ElementsAre("step"));
  EXPECT_THAT(coverage.never_hit, IsEmpty());
  EXPECT_THAT(coverage.unknown, ElementsAre("evaluate", "inference"));
  EXPECT_EQ(coverage.span_count, 2u);
  EXPECT_EQ(coverage.other_span_count, 1u);
}

TEST_F(GroupCoverageTest, IsWhatTheProcessesSayWhereTheyAllDo) {
  directory.write("status-rank0.json", R"({"groups_with_spans":["rollout"],"groups_without_spans":["reward"]})");
  const auto coverage = group_coverage(trace_of({"mine"}, ""), "job", SpanGroup::vocabulary());
  EXPECT_EQ(coverage.spec, "") << "nobody needs to know one";
  EXPECT_THAT(coverage.hit, ElementsAre("rollout"));
  EXPECT_THAT(coverage.never_hit, ElementsAre("reward"));
  EXPECT_THAT(coverage.unknown, IsEmpty());
}

TEST_F(GroupCoverageTest, IsNotKnownWhereAProcessDidNotEndInOrder) {
  directory.write("status-rank0.json", R"({"groups_with_spans":["job"],"groups_without_spans":["step"]})");
  directory.write("status-rank1-recovered.json", R"({"spans_recorded":1})");
  directory.write("traces-rank1.jsonl", "");
  directory.write("traces-rank1-recovered.jsonl", "");
  const auto coverage = group_coverage(trace_of({"mine"}, ""), "job,evaluate", SpanGroup::vocabulary());
  EXPECT_THAT(coverage.hit, ElementsAre("job"));
  EXPECT_THAT(coverage.never_hit, IsEmpty());
  EXPECT_THAT(coverage.unknown, ElementsAre("evaluate", "step"));
}

TEST_F(GroupCoverageTest, TakesTheGivenSpecWhereTheRunSaysNone) {
  const auto coverage = group_coverage(trace_of({"mine"}, ""), "job", SpanGroup::vocabulary());
  EXPECT_THAT(coverage.unknown, ElementsAre("job"));
  EXPECT_THROW(group_coverage(trace_of({"mine"}, ""), "rollout", SpanGroup::vocabulary()), std::invalid_argument);
}

}  // namespace
}  // namespace lens::analyze
