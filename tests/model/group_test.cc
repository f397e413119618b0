// SPDX-License-Identifier: Apache-2.0
// The switches: off until the process records, changed as a whole, shared by name.
#include "lens/group.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "src/model/group_registry.h"

namespace lens {
namespace {

class GroupTest : public testing::Test {
 protected:
  ~GroupTest() override { registry_.close(); }
  detail::GroupRegistry& registry_ = detail::GroupRegistry::instance();
};

// Contract: 1.gate
TEST_F(GroupTest, EveryGroupIsOffBeforeSetUp) {
  for (const std::string& name : SpanGroup::vocabulary().groups()) EXPECT_FALSE(is_span_group_enabled(name)) << name;
  EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
  EXPECT_TRUE(enabled_span_groups().empty());
}

TEST_F(GroupTest, EnablingHasNoEffectBeforeSetUp) {
  set_enabled_span_groups(SpanGroup::resolve("all"));
  EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
  EXPECT_TRUE(enabled_span_groups().empty());
}

TEST_F(GroupTest, EnablingReplacesTheWholeSetWhileRecording) {
  registry_.open(SpanGroup::resolve("default"));
  EXPECT_TRUE(is_span_group_enabled(SpanGroup::job));
  EXPECT_FALSE(is_span_group_enabled(SpanGroup::step));
  set_enabled_span_groups(GroupSet{SpanGroup::step, SpanGroup::optimizer});
  EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
  EXPECT_TRUE(is_span_group_enabled(SpanGroup::step));
  EXPECT_EQ(enabled_span_groups(), GroupSet::of({"optimizer", "step"}));
}

TEST_F(GroupTest, ByNameAndByObjectAreOneSwitch) {
  registry_.open(GroupSet{SpanGroup::step});
  EXPECT_TRUE(is_span_group_enabled("step"));
  EXPECT_FALSE(is_span_group_enabled("job"));
  EXPECT_FALSE(is_span_group_enabled("never heard of"));
}

TEST_F(GroupTest, ClosingTurnsEverythingOff) {
  registry_.open(SpanGroup::resolve("all"));
  registry_.close();
  EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
  EXPECT_FALSE(is_span_group_enabled("job"));
}

TEST_F(GroupTest, TwoGroupsOfOneNameShareTheSwitch) {
  const Group mine{"step"};
  registry_.open(GroupSet{SpanGroup::step});
  EXPECT_TRUE(mine.enabled());
  set_enabled_span_groups({});
  EXPECT_FALSE(mine.enabled());
}

TEST_F(GroupTest, AGroupDeclaredLaterIsOnWhenItsNameIs) {
  registry_.open(GroupSet::of({"plugin"}));
  EXPECT_TRUE(is_span_group_enabled("plugin"));
  const Group plugin{"plugin"};
  EXPECT_TRUE(plugin.enabled());
}

TEST_F(GroupTest, AGroupThatIsGoneIsNotTouchedAgain) {
  auto unloaded = std::make_unique<Group>("unloaded");
  registry_.open(GroupSet{*unloaded});
  unloaded.reset();
  set_enabled_span_groups(GroupSet{SpanGroup::step});  // a sanitizer would tell
  EXPECT_TRUE(is_span_group_enabled(SpanGroup::step));
}

TEST_F(GroupTest, WritersSerialiseAndReadersNeverSeeAMixtureOfNames) {
  registry_.open({});
  const GroupSet left = GroupSet{SpanGroup::step}, right = GroupSet{SpanGroup::job};
  auto flip = [&](const GroupSet& groups) {
    for (int i = 0; i < 2'000; ++i) set_enabled_span_groups(groups);
  };
  std::thread first{flip, left}, second{flip, right};
  for (int i = 0; i < 2'000; ++i) (void)is_span_group_enabled("step");
  first.join();
  second.join();
  const GroupSet last = enabled_span_groups();
  EXPECT_TRUE(last == left || last == right);
  EXPECT_EQ(is_span_group_enabled(SpanGroup::step), last == left);
  EXPECT_EQ(is_span_group_enabled(SpanGroup::job), last == right);
}

}  // namespace
}  // namespace lens
