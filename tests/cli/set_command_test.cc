// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/standing_ranks.h"

namespace lens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::LensProcess;
using tests::StandingRanks;

class SetCommand : public testing::Test {
 protected:
  int set(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "set");
    arguments.insert(arguments.end(), {"--shm-dir", directory.path() / "rings"});
    LensProcess lens(directory, arguments);
    const int exit_code = lens.wait();
    output = lens.output();
    errors = lens.errors();
    return exit_code;
  }

  tests::TemporaryDirectory directory;
  std::string output, errors;
};

// Contract: 1.set
TEST_F(SetCommand, sets_the_groups_of_every_rank_that_lives) {
  StandingRanks ranks(directory, {{"step"}, {"step"}, {"step"}, {"step"}});
  EXPECT_EQ(set({"job, STEP"}), 0);
  EXPECT_EQ(output, "ranks 0-3: now on: job, step\nrun standing: 4 of 4 ranks set\n");
  EXPECT_EQ(errors, "");
  ranks.end(1, SIGKILL);
  EXPECT_EQ(set({"none", "standing"}), 0);
  EXPECT_EQ(output, "ranks 0,2-3: no group is on\nrun standing: 3 of 4 ranks set\n");
}

TEST_F(SetCommand, sets_only_the_ranks_that_are_named) {
  StandingRanks ranks(directory, {{"step"}, {"step"}, {"step"}});
  EXPECT_EQ(set({"optimizer", "--rank", "0,2"}), 0);
  EXPECT_EQ(output, "ranks 0,2: now on: optimizer\nrun standing: 2 of 3 ranks set\n");
  EXPECT_EQ(set({"step", "--rank", "1", "--rank", "2"}), 0);
  EXPECT_EQ(output, "ranks 1-2: now on: step\nrun standing: 2 of 3 ranks set\n");
  EXPECT_EQ(set({"step", "--rank", "7"}), 1);
  EXPECT_EQ(errors, "lens: no process of rank 7 of run standing records on this machine\n");
}

// Contract: 1.set
TEST_F(SetCommand, says_what_a_rank_refuses) {
  StandingRanks ranks(directory, {{"step"}, {"step"}});
  EXPECT_EQ(set({"step,stepp"}), 1);
  EXPECT_THAT(errors, AllOf(HasSubstr("ranks 0-1: refused: unknown span group or preset \"stepp\""),
                            HasSubstr("per_step"), HasSubstr("optimizer")));
  EXPECT_EQ(output, "run standing: 0 of 2 ranks set\n");
}

// Contract: 1.set
TEST_F(SetCommand, is_refused_where_traces_are_off) {
  tests::RunEnvironment environment(directory);
  environment.set("NEMO_LENS_TRACES_ENABLED", "0");
  environment.set("NEMO_LENS_LOGS_ENABLED", "1");
  StandingRanks ranks(directory, {{"step"}});
  EXPECT_EQ(set({"step"}), 1);
  EXPECT_EQ(errors, "lens: rank 0: refused: traces are off\n");
  EXPECT_EQ(output, "run standing: 0 of 1 ranks set\n");
}

TEST_F(SetCommand, waits_for_no_rank_for_ever) {
  StandingRanks ranks(directory, {{"step"}, {"step"}});
  kill(ranks.pid(1), SIGSTOP);
  EXPECT_EQ(set({"step"}), 1);
  EXPECT_EQ(output, "rank 0: now on: step\nrun standing: 1 of 2 ranks set\n");
  EXPECT_THAT(errors, HasSubstr("rank 1: no answer within 2 s"));
}

TEST_F(SetCommand, explains_what_it_is_not_told_or_cannot_find) {
  EXPECT_EQ(set({" "}), 2);
  EXPECT_THAT(errors, HasSubstr("which groups?"));
  EXPECT_EQ(set({"step"}), 1);
  EXPECT_THAT(errors, HasSubstr("no living process keeps its rings"));
  StandingRanks ranks(directory, {{"step"}});
  EXPECT_EQ(set({std::string(1025, 'x')}), 2);
  EXPECT_THAT(errors, HasSubstr("1024 letters at most"));
  EXPECT_EQ(set({"step", "another"}), 1);
  EXPECT_THAT(errors, HasSubstr("no living process of run another"));
}

}  // namespace
}  // namespace lens
