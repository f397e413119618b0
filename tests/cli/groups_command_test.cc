// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <nlohmann/json.hpp>

#include "lens/megatron.h"
#include "tests/cli/lens_process.h"
#include "tools/analyze/group_spans.h"

namespace lens {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using tests::LensProcess;

class GroupsCommand : public testing::Test {
 protected:
  json groups(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "groups");
    arguments.push_back("--json");
    LensProcess lens(directory, arguments);
    EXPECT_EQ(lens.wait(), 0);
    return json::parse(lens.output());
  }

  tests::TemporaryDirectory directory;
};

TEST_F(GroupsCommand, lists_everything_without_a_spec) {
  json all = groups({});
  EXPECT_EQ(all["groups"].size(), 14u);
  EXPECT_EQ(all["presets"]["default"], json({"checkpoint", "evaluate", "inference", "job"}));
  EXPECT_EQ(all["spans"]["step"], json({"megatron.train_step"}));
  EXPECT_EQ(all["spans"].size(), 14u);
}

TEST_F(GroupsCommand, resolves_a_spec) {
  json resolved = groups({"default,microbatch"});
  EXPECT_EQ(resolved["groups"], json({"checkpoint", "evaluate", "inference", "job", "microbatch"}));
  EXPECT_EQ(resolved["spans"]["microbatch"], json({"megatron.microbatch.forward", "megatron.microbatch.backward"}));
  EXPECT_EQ(groups({""})["groups"], json::array());
}

TEST_F(GroupsCommand, knows_the_base_vocabulary) {
  json base = groups({"default", "--vocabulary", "base"});
  EXPECT_EQ(base["groups"], json({"checkpoint", "evaluate", "job"}));
}

TEST_F(GroupsCommand, prints_a_page_for_people) {
  LensProcess lens(directory, {"groups"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("  step                megatron.train_step\n"),
                                   HasSubstr("  all                 every group\n")));
}

TEST_F(GroupsCommand, refuses_an_unknown_word_and_lists_the_known_ones) {
  LensProcess lens(directory, {"groups", "steps"});
  EXPECT_EQ(lens.wait(), 2);
  EXPECT_THAT(lens.errors(), AllOf(HasSubstr("steps"), HasSubstr("per_step"), HasSubstr("microbatch")));
  LensProcess vocabulary(directory, {"groups", "--vocabulary", "other"});
  EXPECT_EQ(vocabulary.wait(), 2);
}

TEST(GroupSpans, give_every_group_of_megatron_at_least_one_span) {
  std::set<std::string> groups;
  for (const analyze::GroupSpan& entry : analyze::group_spans()) groups.emplace(entry.group);
  const GroupSet& known = MegatronSpanGroup::vocabulary().groups();
  EXPECT_EQ(groups, std::set<std::string>(known.begin(), known.end()));
}

}  // namespace
}  // namespace lens
