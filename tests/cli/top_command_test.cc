// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>

#include <cstddef>
#include <fstream>

#include <nlohmann/json.hpp>

#include "src/record/layout.h"
#include "tests/cli/standing_ranks.h"
#include "tests/export/loopback.h"
#include "tools/trace/ring_file.h"

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
  EXPECT_EQ(snapshot["places"][1]["mark"], "apart");
}

TEST_F(TopCommand, replaces_bytes_of_names_that_are_no_text) {
  StandingRanks ranks(directory, {{"\xff\xfe step", "red\x1b[31m\nline"}});
  LensProcess json(directory, {"top", "--json", "--shm-dir", shm_dir()});
  EXPECT_EQ(json.wait(), 0);
  EXPECT_EQ(json.errors(), "");
  const auto stack = nlohmann::json::parse(json.output())["ranks"][0]["stack"];
  EXPECT_EQ(stack[0]["name"], "red\x1b[31m\nline");
  EXPECT_EQ(stack[1]["name"], "\ufffd\ufffd step");
  LensProcess text(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(text.wait(), 0);
  EXPECT_THAT(text.output(), HasSubstr("red\ufffd[31m\ufffdline < \ufffd\ufffd step"));
}

TEST_F(TopCommand, shows_spans_that_are_no_scopes_by_their_parents) {
  StandingRanks ranks(directory, {{"start:job", "start:step", "start:request"}});
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), ContainsRegex("request < step < job +0 "));
}

TEST_F(TopCommand, shows_the_iteration_that_a_span_was_told_last) {
  StandingRanks ranks(directory, {{"train_step", "iteration:8", "iteration:9"}});
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), ContainsRegex("train_step +0 .* 9 *\n"));
}

TEST_F(TopCommand, says_that_names_found_no_room_in_the_file) {
  StandingRanks ranks(directory, {{"names:300", "train_step"}, {"train_step"}});
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  // The span's name, and the key `iteration`.
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("\n  lens.unknown_name "), HasSubstr("\nrank 0: the file lacks 2 names,"),
                                   testing::Not(HasSubstr("rank 1: "))));
}

TEST_F(TopCommand, names_the_ranks_that_are_not_there) {
  StandingRanks ranks(directory, {{"train_step"}, {"train_step"}, {"train_step"}, {"train_step"}});
  ranks.end(2, SIGTERM);
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("3 of 4 ranks"), HasSubstr("\nrank 2: no process of it records here")));
}

TEST_F(TopCommand, does_not_count_children_that_a_rank_has_forked) {
  StandingRanks ranks(directory, {{"train_step", "fork", "forward"}});
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("1 of 1 ranks"), ContainsRegex("forward < train_step +0 ")));
}

TEST_F(TopCommand, shows_a_restarted_rank_once_and_says_that_its_earlier_life_can_be_recovered) {
  StandingRanks ranks(directory, {{"train_step", "forward"}, {"train_step", "forward"}});
  const pid_t died = ranks.pid(1);
  ranks.end(1, SIGKILL);
  ranks.restart(1, {"train_step", "backward"});
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(),
              AllOf(HasSubstr("2 of 2 ranks"), ContainsRegex("backward < train_step +1 "),
                    HasSubstr("rank 1: its process " + std::to_string(died) + " has died; `lens recover`")));
}

TEST_F(TopCommand, marks_of_two_ranks_the_one_that_has_been_in_its_place_for_longer) {
  StandingRanks ranks(directory, {{"train_step", "forward"}, {"train_step", "recv"}});
  ranks.end(1, SIGTERM);
  ranks.restart(1, {"train_step", "recv"});
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), AllOf(ContainsRegex("forward < train_step +0 .* 7 +here first"),
                                   ContainsRegex("recv < train_step +1 .* 7 *\n")));
}

// Contract: 7.failing
TEST_F(TopCommand, says_since_when_and_why_nothing_is_exported) {
  const std::string endpoint = "http://127.0.0.1:" + std::to_string(tests::free_port());
  StandingRanks ranks(directory, {{"train_step"}, {"train_step"}},
                      {{"NEMO_LENS_EXPORTER", "otlp"},
                       {"NEMO_LENS_SPOOL_DIR", directory.path() / "spool"},
                       {"OTEL_BSP_SCHEDULE_DELAY", "1"},
                       {"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint},
                       {"no_proxy", "*"}});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  nlohmann::json failures;
  const auto all_fail = [&] {
    LensProcess lens(directory, {"top", "--json", "--shm-dir", shm_dir()});
    EXPECT_EQ(lens.wait(), 0);
    const auto snapshot = nlohmann::json::parse(lens.output());
    failures.clear();
    for (const auto& rank : snapshot["ranks"])
      if (!rank["export_failure"].is_null()) failures.push_back(rank["export_failure"]);
    return failures.size() == 2;
  };
  while (!all_fail() && std::chrono::steady_clock::now() < end) {
  }
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_THAT(std::string(failures[0]["reason"]), HasSubstr("cannot reach " + endpoint));
  EXPECT_LT(failures[0]["for_s"], 30);
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), ContainsRegex("rank 0-1: nothing has been exported for .*: cannot reach " + endpoint));
}

template <class T>
T value_in(const std::filesystem::path& file, std::uint64_t at) {
  T value{};
  std::ifstream(file, std::ios::binary).seekg(std::streamoff(at)).read(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

template <class T>
void change(const std::filesystem::path& file, std::uint64_t at, const T& value) {
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(std::streamoff(at))
      .write(reinterpret_cast<const char*>(&value), sizeof value);
}

// Contract: 7.failing
TEST_F(TopCommand, says_since_when_a_pipeline_stands_still_and_what_was_dropped_meanwhile) {
  StandingRanks ranks(directory, {{"train_step"}, {"train_step"}, {"train_step"}});
  for (const std::size_t rank : {0u, 2u}) {
    kill(ranks.pid(rank), SIGSTOP);
    ASSERT_EQ(waitpid(ranks.pid(rank), nullptr, WUNTRACED), ranks.pid(rank));
  }
  for (trace::RingFile& file : trace::find_ring_files(shm_dir(), "standing")) {
    if (file.facts().rank == 1) continue;
    // As if it had stood for longer.
    const std::int64_t then_ns = file.facts().clock.unix_ns - 34'000'000'000;
    change(file.path(), offsetof(record::FileHeader, clock) + offsetof(record::ClockCalibration, unix_ns), then_ns);
    const auto first_ring = value_in<std::uint64_t>(file.path(), offsetof(record::FileHeader, rings_offset));
    change(file.path(), first_ring + offsetof(record::RingHeader, dropped), std::uint64_t{1500});
  }
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(
      lens.output(),
      AllOf(HasSubstr(" 3,000 dropped"),
            ContainsRegex("rank 0,2: nothing has been taken out of the rings for [3-9][0-9.]+ .*: the process")));
  LensProcess json(directory, {"top", "--json", "--shm-dir", shm_dir()});
  EXPECT_EQ(json.wait(), 0);
  const auto states = nlohmann::json::parse(json.output())["ranks"];
  ASSERT_EQ(states.size(), 3u);
  EXPECT_GE(states[0]["stalled_for_s"], 34);
  EXPECT_TRUE(states[1]["stalled_for_s"].is_null());
  EXPECT_EQ(states[2]["spans_dropped"], 1500);
}

// Contract: 3.top-behind
TEST_F(TopCommand, sets_ranks_apart_that_are_behind_in_the_same_span) {
  StandingRanks ranks(directory,
                      {{"train_step"}, {"train_step", "iteration:6"}, {"train_step"}, {"train_step", "iteration:5"}});
  LensProcess lens(directory, {"top", "--once", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(),
              AllOf(ContainsRegex("train_step +0-2 .* 6-7 *\n"), ContainsRegex("train_step +3 .* 5 +behind")));
}

TEST_F(TopCommand, says_nothing_of_exports_that_succeed) {
  StandingRanks ranks(directory, {{"train_step"}}, {{"OTEL_BSP_SCHEDULE_DELAY", "1"}});
  LensProcess lens(directory, {"top", "--json", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_TRUE(nlohmann::json::parse(lens.output())["ranks"][0]["export_failure"].is_null());
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
