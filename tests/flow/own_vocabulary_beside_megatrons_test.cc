// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

struct RlSpanGroup : SpanGroup {
  static inline Group rollout{"rollout"}, reward{"reward"}, step_again{"step"};

  static const Vocabulary& vocabulary() {
    static const Vocabulary rl{"rl",
                               SpanGroup::vocabulary().groups() | GroupSet{rollout, reward},
                               {{"default", {job, rollout}}, {"per_step", {job, step, rollout, reward}}}};
    return rl;
  }
  static GroupSet resolve(std::string_view spec) { return vocabulary().resolve(spec); }
};

void train() {
  auto job = managed_span(RlSpanGroup::job, "job");
  auto rollout = managed_span(RlSpanGroup::rollout, "rollout");
  auto reward = managed_span(RlSpanGroup::reward, "reward");
  auto layer = managed_span(MegatronSpanGroup::layer, "layer");
  auto step = managed_span(MegatronSpanGroup::step, "step");
  auto again = managed_span(RlSpanGroup::step_again, "step again");
}

RecordedTrace record_rl(const std::string& spec) {
  return record(train, [&](Config& config) {
    config.vocabulary = RlSpanGroup::vocabulary();
    config.span_groups = spec;
  });
}

// Contract: 1.own-vocabulary
TEST(OwnVocabulary, StandsBesideMegatrons) {
  EXPECT_EQ(record_rl("default").names(), "job rollout");
  EXPECT_EQ(record_rl("per_step").names(), "job reward rollout step step again");
  EXPECT_EQ(record_rl("all").count("reward"), 1u);
  EXPECT_EQ(record_rl("all").count("layer"), 0u);
  EXPECT_THROW(record_rl("layer"), std::invalid_argument);
}

// Contract: 1.own-vocabulary
TEST(OwnVocabulary, SharesTheSwitchOfAGroupThatTwoDeclare) {
  record([] {
    set_enabled_span_groups(RlSpanGroup::resolve("step"));
    EXPECT_TRUE(RlSpanGroup::step_again.enabled());
    EXPECT_TRUE(MegatronSpanGroup::step.enabled());
    EXPECT_TRUE(is_span_group_enabled("step"));
    set_enabled_span_groups(RlSpanGroup::resolve("default") | MegatronSpanGroup::resolve("layer"));
    EXPECT_FALSE(is_span_group_enabled("step"));
    EXPECT_TRUE(is_span_group_enabled("rollout"));
    EXPECT_TRUE(is_span_group_enabled("layer"));
    EXPECT_FALSE(is_span_group_enabled("no such group"));
  });
}

}  // namespace
}  // namespace lens::tests
