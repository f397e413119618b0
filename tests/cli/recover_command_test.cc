// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/cli/standing_ranks.h"

namespace lens {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using tests::LensProcess;
using tests::StandingRanks;

class RecoverCommand : public testing::Test {
 protected:
  std::string shm_dir() const { return directory.path() / "rings"; }

  nlohmann::json recover() {
    LensProcess lens(directory, {"recover", "--json", "--shm-dir", shm_dir()});
    EXPECT_EQ(lens.wait(), 0);
    EXPECT_EQ(lens.errors(), "");
    return nlohmann::json::parse(lens.output());
  }

  tests::TemporaryDirectory directory;
};

TEST_F(RecoverCommand, writes_what_a_killed_rank_had_recorded_once) {
  StandingRanks ranks(directory, {{"train_step", "forward"}, {"train_step"}});
  ranks.end(0, SIGKILL);
  LensProcess first(directory, {"recover", "standing", "--shm-dir", shm_dir()});
  EXPECT_EQ(first.wait(), 0);
  EXPECT_THAT(first.output(),
              AllOf(HasSubstr("rank 0 (process "), HasSubstr("5 spans that had ended and 2 that were open")));
  LensProcess second(directory, {"recover", "standing", "--shm-dir", shm_dir()});
  EXPECT_EQ(second.wait(), 0);
  EXPECT_THAT(second.output(), AllOf(HasSubstr("no dead process of this run"), HasSubstr("(1 alive)")));
}

TEST_F(RecoverCommand, says_that_there_is_no_such_run_and_which_there_are) {
  StandingRanks ranks(directory, {{"train_step"}});
  LensProcess lens(directory, {"recover", "stnading", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_EQ(lens.output(), "");
  EXPECT_THAT(lens.errors(), AllOf(HasSubstr("no process of a run stnading"), HasSubstr("there are: standing")));
}

TEST_F(RecoverCommand, leaves_nothing_of_ranks_that_ended_in_order) {
  StandingRanks ranks(directory, {{"train_step"}});
  ranks.end(0, SIGTERM);
  EXPECT_TRUE(fs::is_empty(shm_dir()));
  EXPECT_EQ(recover().size(), 0u);
}

TEST_F(RecoverCommand, keeps_what_it_cannot_write) {
  StandingRanks ranks(directory, {{"train_step"}});
  ranks.end(0, SIGKILL);
  fs::rename(directory.path() / "traces", directory.path() / "elsewhere");
  directory.write("traces", "no directory");
  LensProcess failing(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(failing.wait(), 1);
  EXPECT_THAT(failing.errors(), HasSubstr("what it holds is still there"));
  fs::remove(directory.path() / "traces");
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0]["spans_ended"], 5);
  EXPECT_EQ(recovered[0]["spans_truncated"], 1);
}

TEST_F(RecoverCommand, says_what_is_no_file_of_rings) {
  fs::create_directories(shm_dir());
  std::ofstream(fs::path(shm_dir()) / "damaged.ring") << "not what it should be";
  LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr("damaged.ring is not a file of rings"));
}

class RecoverARun : public RecoverCommand {
 protected:
  RecoverARun() {
    for (const char* name : {"NEMO_LENS_FILE_DIR", "NEMO_LENS_RUN_ID"}) unsetenv(name);
    setenv("NEMO_LENS_SHM_DIR", shm_dir().c_str(), 1);
  }
  ~RecoverARun() override { unsetenv("NEMO_LENS_SHM_DIR"); }

  std::vector<std::string> run(std::vector<std::string> command) const {
    command.insert(command.begin(), {"run", "-n", "2", "--out", "out", "--span-groups", "all", "--"});
    return command;
  }
};

TEST_F(RecoverARun, of_which_the_launcher_was_killed_with_all_its_ranks) {
  tests::Signpost signpost(directory);
  LensProcess lens(directory, run({LENS_STANDER, "signpost", "train_step", "forward"}));
  signpost.wait_for_lines(2);
  lens.signal(SIGKILL);
  lens.wait();
  // The ranks die with their launcher, at some moment soon after.
  std::size_t ranks = 0;
  while (ranks < 2) {
    for (const auto& recovery : recover()) {
      EXPECT_EQ(recovery["spans_ended"], 5);
      EXPECT_EQ(recovery["spans_truncated"], 2);
      ++ranks;
    }
  }
  EXPECT_TRUE(fs::is_empty(shm_dir()));
  LensProcess report(directory, {"report", "out", "--json"});
  EXPECT_EQ(report.wait(), 0);
  EXPECT_EQ(nlohmann::json::parse(report.output())["run"]["spans"], 14);
}

TEST_F(RecoverARun, is_done_by_the_launcher_for_a_rank_that_was_killed) {
  LensProcess lens(directory, run({"bash", "-c",
                                   "mkfifo here$RANK; [ $RANK = 0 ] && exec sleep 0; " LENS_STANDER
                                   " here$RANK train_step & read < here$RANK; kill -KILL $!; wait $!"}));
  EXPECT_EQ(lens.wait(), 128 + SIGKILL);
  EXPECT_THAT(lens.errors(), HasSubstr("recovered 5 spans of rank 1 that had ended, and 1 that were open"));
  EXPECT_TRUE(fs::is_empty(shm_dir()));
}

}  // namespace
}  // namespace lens
