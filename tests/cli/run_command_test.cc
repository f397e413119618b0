// SPDX-License-Identifier: Apache-2.0
// `lens run` with real processes: the ranks are shell scripts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <nlohmann/json.hpp>

#include "tests/cli/lens_process.h"

namespace lens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::LensProcess;
using tests::Signpost;

class RunCommand : public testing::Test {
 protected:
  // The arguments of `lens run` that start `ranks` ranks of a script and keep their trace in out/.
  std::vector<std::string> script(int ranks, const std::string& text, std::vector<std::string> options = {}) {
    std::vector<std::string> arguments{"run", "-n", std::to_string(ranks), "--out", "out"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    for (const std::string& word : {std::string("--"), std::string("bash"), std::string("-c"), text})
      arguments.push_back(word);
    return arguments;
  }

  nlohmann::json run_file() { return nlohmann::json::parse(directory.read("out/run.json")); }

  tests::TemporaryDirectory directory;
};

// Waits for a signal, woken at once by it: bash runs a trap only between commands, and `wait` is one that it
// interrupts.
const std::string wait_for_signal = "sleep 600 & echo here > signpost; wait; ";

TEST_F(RunCommand, starts_every_rank_with_its_number_and_prefixes_its_lines) {
  LensProcess lens(directory, script(3, "echo $RANK of $WORLD_SIZE; echo local $LOCAL_RANK >&2"));
  EXPECT_EQ(lens.wait(), 0);
  for (std::string rank : {"0", "1", "2"}) {
    EXPECT_THAT(lens.output(), HasSubstr("[" + rank + "] " + rank + " of 3\n"));
    EXPECT_THAT(lens.errors(), HasSubstr("[" + rank + "] local " + rank + "\n"));
    EXPECT_THAT(directory.read("out/rank" + rank + ".log"),
                AllOf(HasSubstr(rank + " of 3\n"), HasSubstr("local " + rank)));
  }
  EXPECT_EQ(run_file()["world_size"], 3);
  EXPECT_EQ(run_file()["ranks"].size(), 3u);
  EXPECT_FALSE(run_file().contains("failed_rank"));
}

// Contract: 2.nested-launchers
TEST_F(RunCommand, leaves_the_ranks_to_a_launcher_that_it_starts) {
  if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "there is no mpirun";
  const std::string mpirun =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 exec mpirun --oversubscribe -n 3 ";
  const std::string doctor =
      std::string("sh -c '") + LENS_PROGRAM + " doctor --offline --json > found$OMPI_COMM_WORLD_RANK; true'";
  LensProcess lens(directory, script(1, mpirun + doctor));
  EXPECT_EQ(lens.wait(), 0) << lens.errors();
  for (int rank = 0; rank < 3; ++rank) {
    const auto process = nlohmann::json::parse(directory.read("found" + std::to_string(rank)))["process"];
    EXPECT_EQ(process["rank"], rank);
    EXPECT_EQ(process["world_size"], 3);
    EXPECT_EQ(process["local_rank"], rank);
    EXPECT_EQ(process["run_id"], run_file()["run_id"]);
  }
}

TEST_F(RunCommand, passes_arguments_on_as_they_are) {
  LensProcess lens(directory, {"run", "--out", "out", "--", "printf", "%s|", "a b", "--json", "-n", "", "--"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("[0] a b|--json|-n||--|\n"));
}

TEST_F(RunCommand, makes_a_directory_of_its_own_where_none_is_named) {
  LensProcess lens(directory, {"run", "--", "bash", "-c", "basename $NEMO_LENS_FILE_DIR; echo $NEMO_LENS_RUN_ID"});
  EXPECT_EQ(lens.wait(), 0);
  std::string name = std::filesystem::directory_iterator(directory.path() / "lens")->path().filename().string();
  EXPECT_EQ(lens.output(), "[0] " + name + "\n[0] " + name + "\n");
}

TEST_F(RunCommand, ends_the_others_when_a_rank_fails_and_exits_with_its_code) {
  ASSERT_EQ(mkfifo((directory.path() / "go").c_str(), 0600), 0);
  Signpost signpost(directory);
  LensProcess lens(directory, script(3,
                                     "trap 'echo asked to end; exit 0' TERM; "
                                     "if [ $RANK = 1 ]; then read < go; echo last words; exit 7; fi; " +
                                         wait_for_signal));
  signpost.wait_for_lines(2);
  directory.write("go", "\n");
  EXPECT_EQ(lens.wait(), 7);
  EXPECT_THAT(lens.errors(),
              AllOf(HasSubstr("rank 1 exited with code 7"), HasSubstr("ending the other ranks, since rank 1 failed")));
  EXPECT_THAT(lens.output(),
              AllOf(HasSubstr("[1] last words\n"), HasSubstr("[0] asked to end\n"), HasSubstr("[2] asked to end\n")));
  EXPECT_EQ(run_file()["failed_rank"], 1);
  EXPECT_EQ(run_file()["ranks"][1]["exit_code"], 7);
}

TEST_F(RunCommand, says_by_which_signal_a_rank_was_killed) {
  LensProcess lens(directory, script(2, "[ $RANK = 0 ] || kill -SEGV $$; sleep 600"));
  EXPECT_EQ(lens.wait(), 128 + SIGSEGV);
  EXPECT_THAT(lens.errors(), HasSubstr("rank 1 was killed by SIGSEGV"));
}

TEST_F(RunCommand, kills_ranks_that_do_not_end_within_the_grace) {
  ASSERT_EQ(mkfifo((directory.path() / "go").c_str(), 0600), 0);
  LensProcess lens(directory,
                   script(2, "trap '' TERM; if [ $RANK = 0 ]; then read < go; exit 3; fi; echo > go; exec sleep 600",
                          {"--grace", "0.2"}));
  EXPECT_EQ(lens.wait(), 3);
  EXPECT_THAT(lens.errors(), HasSubstr("killing the ranks that are still there"));
  EXPECT_EQ(run_file()["ranks"][1]["signal"], SIGKILL);
}

TEST_F(RunCommand, passes_signals_on_and_lets_the_ranks_end_by_themselves) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    tests::TemporaryDirectory own;
    Signpost signpost(own);
    LensProcess lens(own, script(2, "trap 'echo saved; exit 0' INT TERM HUP; " + wait_for_signal));
    signpost.wait_for_lines(2);
    lens.signal(signal);
    EXPECT_EQ(lens.wait(), 0) << signal;
    EXPECT_THAT(lens.output(), AllOf(HasSubstr("[0] saved\n"), HasSubstr("[1] saved\n"))) << signal;
  }
}

TEST_F(RunCommand, exits_as_its_ranks_did_when_a_signal_ended_them) {
  Signpost signpost(directory);
  LensProcess lens(directory, script(2, wait_for_signal));
  signpost.wait_for_lines(2);
  lens.signal(SIGTERM);
  EXPECT_EQ(lens.wait(), 128 + SIGTERM);
}

TEST_F(RunCommand, kills_all_ranks_at_the_second_interrupt) {
  Signpost signpost(directory);
  LensProcess lens(directory, script(2,
                                     "trap 'echo busy > signpost' INT; sleep 600 & echo here > signpost; "
                                     "while :; do wait; done"));
  signpost.wait_for_lines(2);
  lens.signal(SIGINT);
  signpost.wait_for_lines(2);
  lens.signal(SIGINT);
  EXPECT_EQ(lens.wait(), 128 + SIGKILL);
}

TEST_F(RunCommand, makes_each_rank_the_leader_of_a_process_group) {
  LensProcess lens(directory, script(1, "read -r pid name state parent group rest < /proc/$$/stat; [ $group = $$ ]"));
  EXPECT_EQ(lens.wait(), 0);
}

TEST_F(RunCommand, takes_its_ranks_along_when_it_is_killed) {
  Signpost signpost(directory);
  LensProcess lens(directory, script(2, "exec 3> signpost; echo here >&3; exec sleep 600"));
  signpost.wait_for_lines(2);
  lens.signal(SIGKILL);
  EXPECT_EQ(lens.wait(), -1);
  signpost.wait_for_end();
}

TEST_F(RunCommand, begins_no_run_of_a_command_that_is_not_there) {
  for (std::string command : {"no-such-program", "./no-such-program"}) {
    LensProcess lens(directory, {"run", "-n", "2", "--", command});
    EXPECT_EQ(lens.wait(), 127);
    EXPECT_THAT(lens.errors(), HasSubstr("cannot run '" + command + "': No such file or directory"));
    EXPECT_FALSE(std::filesystem::exists(directory.path() / "lens"));
  }
}

TEST_F(RunCommand, begins_no_run_of_a_file_that_is_no_program) {
  directory.write("notes", "not a program");
  LensProcess lens(directory, {"run", "--", "./notes"});
  EXPECT_EQ(lens.wait(), 126);
  EXPECT_THAT(lens.errors(), HasSubstr("Permission denied"));
}

TEST_F(RunCommand, names_the_remedy_when_the_directory_cannot_be_written) {
  directory.write("file", "");
  LensProcess lens(directory, {"run", "--out", "file/out", "--", "touch", "started"});
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), AllOf(HasSubstr("cannot be written"), HasSubstr("--out")));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "started"));
}

TEST_F(RunCommand, refuses_a_directory_that_holds_another_run) {
  LensProcess first(directory, script(1, "true"));
  EXPECT_EQ(first.wait(), 0);
  const std::string run_id = run_file()["run_id"];
  LensProcess second(directory, script(1, "touch started"));
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(second.errors(), AllOf(HasSubstr("holds the run " + run_id), HasSubstr("--out")));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "started"));
  EXPECT_EQ(run_file()["run_id"], run_id);

  ASSERT_EQ(setenv("NEMO_LENS_RUN_ID", run_id.c_str(), 1), 0);
  LensProcess same(directory, script(1, "true"));
  unsetenv("NEMO_LENS_RUN_ID");
  EXPECT_EQ(same.wait(), 0) << same.errors();
}

TEST_F(RunCommand, refuses_a_directory_that_holds_traces_of_whatever_run) {
  std::filesystem::create_directory(directory.path() / "out");
  directory.write("out/traces-rank0-1-1.otlp.zst", "");
  LensProcess lens(directory, script(1, "touch started"));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), HasSubstr("holds traces already"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "started"));
}

TEST_F(RunCommand, warns_of_groups_that_nobody_knows_and_runs) {
  LensProcess lens(directory, script(1, "echo $NEMO_LENS_SPAN_GROUPS", {"--span-groups", "per_step,rollout"}));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), AllOf(HasSubstr("'rollout'"), Not(HasSubstr("'per_step'"))));
  EXPECT_EQ(lens.output(), "[0] per_step,rollout\n");
}

TEST_F(RunCommand, shows_how_far_the_run_is) {
  LensProcess lens(directory,
                   script(1, "echo ' iteration 10/ 100 | elapsed time per iteration (ms): 12.3 | lm loss: 2.3E+00 |'"));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr("lens: iteration 10/100 · 12.3 ms a step · loss 2.3\n"));
}

TEST_F(RunCommand, counts_every_span_in_its_last_line) {
  ASSERT_EQ(setenv("NEMO_LENS_SHM_DIR", (directory.path() / "rings").c_str(), 1), 0);
  Signpost signpost(directory);
  LensProcess lens(directory, {"run", "-n", "2", "--out", "out", "--span-groups", "all", "--", LENS_STANDER, "signpost",
                               "train_step", "forward"});
  unsetenv("NEMO_LENS_SHM_DIR");
  signpost.wait_for_lines(2);
  // Until it has been seen that the ranks count; their last spans are still open.
  while (lens.errors().find("10 spans, 0 dropped") == std::string::npos) std::this_thread::yield();
  lens.signal(SIGTERM);
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr("lens: 14 spans, 0 dropped\n"));
}

TEST_F(RunCommand, prints_the_report_at_the_end_even_of_a_run_that_failed) {
  std::string trace = LENS_GOLDEN_DIR "/two_ranks/trace/";
  LensProcess lens(directory, script(2, "cp " + trace + "traces-rank$RANK-* $NEMO_LENS_FILE_DIR; exit $((4 * RANK))"));
  EXPECT_EQ(lens.wait(), 4);
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("Step time (megatron.train_step"), HasSubstr("rank 1 exited with code 4"),
                                   HasSubstr("lens report")));
}

TEST_F(RunCommand, says_where_the_spans_went_when_it_was_not_a_directory) {
  ASSERT_EQ(setenv("NEMO_LENS_EXPORTER", "console", 1), 0);
  LensProcess lens(directory, script(1, "true"));
  unsetenv("NEMO_LENS_EXPORTER");
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr("the exporter `console`"));
}

TEST_F(RunCommand, refuses_wrong_usage) {
  for (std::vector<std::string> arguments :
       std::vector<std::vector<std::string>>{{"run"},
                                             {"run", "--"},
                                             {"run", "-n", "0", "--", "true"},
                                             {"run", "-n", "two", "--", "true"},
                                             {"run", "--grace", "-1", "--", "true"}}) {
    LensProcess lens(directory, arguments);
    EXPECT_EQ(lens.wait(), 2);
    EXPECT_THAT(lens.errors(), HasSubstr("See `lens run --help`"));
  }
}

}  // namespace
}  // namespace lens
