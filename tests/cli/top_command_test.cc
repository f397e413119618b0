// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>

#include <nlohmann/json.hpp>

#include "tests/cli/standing_ranks.h"

namespace lens {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using tests::LensProcess;
using tests::StandingRanks;

class TopCommand : public testing::Test {
 protected:
  std::string shm_dir() const { return directory.path() / "rings"; }

  tests::TemporaryDirectory directory;
};

TEST_F(TopCommand, folds_ranks_that_stand_in_one_place_and_marks_those_apart) {
  StandingRanks ranks(directory, {{"train_step", "forward"},
                                  {"train_step", "forward"},
                                  {"train_step", "recv"},
                                  {"train_step", "forward"},
                                  {"train_step", "forward"}});
  ranks.end(4, SIGKILL);
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_EQ(lens.errors(), "");
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("Run standing: 5 of 5 ranks on this machine"),
                                   ContainsRegex("forward < train_step +0-1,3 .* 7 *\n"),
                                   ContainsRegex("recv < train_step +2 .* 7 +apart"),
                                   ContainsRegex("forward < train_step +4 .* 7 +dead")));
}

TEST_F(TopCommand, tells_programs_the_same) {
  StandingRanks ranks(directory, {{"train_step", "forward"}, {"train_step", "forward"}, {"train_step", "recv"}});
  LensProcess lens(directory, {"top", "standing", "--json", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  const auto snapshot = nlohmann::json::parse(lens.output());
  EXPECT_EQ(snapshot["run_id"], "standing");
  EXPECT_EQ(snapshot["world_size"], 3);
  ASSERT_EQ(snapshot["ranks"].size(), 3u);
  EXPECT_EQ(snapshot["ranks"][2]["stack"][0]["name"], "recv");
  EXPECT_EQ(snapshot["ranks"][2]["stack"][1]["name"], "train_step");
  EXPECT_EQ(snapshot["ranks"][2]["iteration"], 7);
  EXPECT_EQ(snapshot["ranks"][2]["alive"], true);
  EXPECT_EQ(snapshot["ranks"][2]["problems"].size(), 0u);
  ASSERT_EQ(snapshot["places"].size(), 2u);
  EXPECT_EQ(snapshot["places"][0]["ranks_folded"], "0-1");
  EXPECT_EQ(snapshot["places"][0]["stands_apart"], false);
  EXPECT_EQ(snapshot["places"][1]["stands_apart"], true);
}

/// Runs `lens` under a terminal of its own.
class Terminal {
 public:
  explicit Terminal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LENS_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (pid_ != 0) return;
    execv(LENS_PROGRAM, pointers.data());
    _exit(99);
  }
  ~Terminal() {
    close(terminal_);
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  /// What it has shown by the time it shows `text`, or ends.
  std::string read_until(const std::string& text) {
    std::string shown;
    char buffer[4096];
    while (shown.find(text) == std::string::npos) {
      const ssize_t got = read(terminal_, buffer, sizeof buffer);
      if (got <= 0) break;
      shown.append(buffer, std::size_t(got));
    }
    return shown;
  }
  int wait() {
    int status = -1;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int terminal_ = -1;
  pid_t pid_ = 0;
};

TEST_F(TopCommand, refreshes_a_terminal_until_the_run_ends) {
  StandingRanks ranks(directory, {{"train_step", "forward"}, {"train_step", "forward"}});
  Terminal terminal({"top", "--interval", "0.05", "--shm-dir", shm_dir()});
  EXPECT_THAT(terminal.read_until("0-1"), HasSubstr("forward < train_step"));
  ranks.end(1, SIGTERM);
  EXPECT_THAT(terminal.read_until("1 of 2 ranks"), HasSubstr("\x1b[H"));
  ranks.end(0, SIGTERM);
  EXPECT_THAT(terminal.read_until("The run has ended."), HasSubstr("The run has ended."));
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(TopCommand, says_why_there_may_be_nothing_to_show) {
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(),
              AllOf(HasSubstr("no process keeps its rings in " + shm_dir()), HasSubstr("NEMO_LENS_ENABLED=1")));
}

}  // namespace
}  // namespace lens
