// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/flow/recorded_trace.h"
#include "tools/trace/trace.h"

namespace lens::tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GroupsOfATrace : public testing::Test {
 protected:
  Config config(std::string span_groups) const {
    Config config = recording_config(directory_.path(), std::move(span_groups));
    config.vocabulary = SpanGroup::vocabulary();
    return config;
  }
  /// As the processes that have ended say it, the first one first.
  std::vector<trace::Status::Groups> told() const {
    std::vector<trace::Status::Groups> told;
    for (const trace::Status& status : trace::open_trace(directory_.path()).statuses)
      told.push_back(status.groups.value_or(trace::Status::Groups{}));
    return told;
  }
  trace::Status::Groups only() const {
    const auto all = told();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? trace::Status::Groups{} : all.front();
  }

  TemporaryDirectory directory_;
};

// Contract: 1.group-use
TEST_F(GroupsOfATrace, AreThoseThatWereOnWhateverTheirSpansAreCalled) {
  {
    auto telemetry = setup_telemetry(config("job,step,evaluate,optimizer"), {});
    for (int i = 0; i < 3; ++i) auto step = managed_span(SpanGroup::step, "my own");
    auto off = managed_span(SpanGroup::checkpoint, "my own");
    auto handle = start_span(SpanGroup::optimizer, "another");
    auto of_no_group = span_cm("of no group");
  }
  EXPECT_THAT(only().with_spans, ElementsAre("optimizer", "step"));
  EXPECT_THAT(only().without_spans, ElementsAre("evaluate", "job"));
}

// Contract: 1.group-use
TEST_F(GroupsOfATrace, AreThoseThatWereTurnedOnMeanwhileToo) {
  {
    auto telemetry = setup_telemetry(config("job"), {});
    set_enabled_span_groups(SpanGroup::resolve("step,checkpoint"));
    { auto step = managed_span(SpanGroup::step, "step"); }
    set_enabled_span_groups({});
    auto off = managed_span(SpanGroup::checkpoint, "off again");
  }
  EXPECT_THAT(only().with_spans, ElementsAre("step"));
  EXPECT_THAT(only().without_spans, ElementsAre("checkpoint", "job"));
}

TEST_F(GroupsOfATrace, IncludeTheStepsOfWhichNotEachIsKept) {
  {
    Config every_other = config("step,job");
    every_other.sample_every_n_steps = 2;
    auto telemetry = setup_telemetry(every_other, {});
    for (int i = 1; i <= 4; ++i) auto step = managed_span(SpanGroup::step, "step");
  }
  EXPECT_THAT(only().with_spans, ElementsAre("step"));
  EXPECT_EQ(read_trace(directory_.path()).count("step"), 2u);
}

// Contract: 1.group-use
TEST_F(GroupsOfATrace, AreOfEachSessionAndOfEachProcessItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer supports no threads in a child of a process with several";
#endif
  {
    auto telemetry = setup_telemetry(config("job,step"), {});
    auto job = managed_span(SpanGroup::job, "job");
    run_in_child([&] {
      { auto step = managed_span(SpanGroup::step, "step"); }
      telemetry.shutdown();
    });
  }
  const auto both = told();
  ASSERT_EQ(both.size(), 2u);
  const bool child_first = both[0].with_spans == std::vector<std::string>{"step"};
  EXPECT_THAT(both[child_first ? 0 : 1].with_spans, ElementsAre("step"));
  EXPECT_THAT(both[child_first ? 0 : 1].without_spans, ElementsAre("job"));
  EXPECT_THAT(both[child_first ? 1 : 0].with_spans, ElementsAre("job"));
  const TemporaryDirectory later;
  {
    Config again = config("job");
    again.file_dir = later.path();
    auto telemetry = setup_telemetry(again, {});
  }
  const auto statuses = trace::open_trace(later.path()).statuses;
  ASSERT_EQ(statuses.size(), 1u);
  EXPECT_THAT(statuses[0].groups->with_spans, IsEmpty());
  EXPECT_THAT(statuses[0].groups->without_spans, ElementsAre("job"));
}

TEST_F(GroupsOfATrace, MayHaveAnyName) {
  const Group quoted{"say \"hi\"\n"};
  {
    auto telemetry = setup_telemetry(config("job"), {});
    set_enabled_span_groups(quoted);
    auto span = managed_span(quoted, "span");
  }
  EXPECT_THAT(only().with_spans, ElementsAre("say \"hi\"\n"));
}

}  // namespace
}  // namespace lens::tests
