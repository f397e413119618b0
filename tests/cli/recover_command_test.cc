// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/file.h>

#include <chrono>
#include <cstddef>
#include <fstream>

#include <nlohmann/json.hpp>

#include "src/record/layout.h"
#include "tests/cli/standing_ranks.h"
#include "tools/trace/ring_file.h"

namespace lens {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
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
              AllOf(HasSubstr("rank 0 (process "), HasSubstr("5 spans that had ended and 2 left open")));
  LensProcess second(directory, {"recover", "standing", "--shm-dir", shm_dir()});
  EXPECT_EQ(second.wait(), 0);
  EXPECT_THAT(second.output(), AllOf(HasSubstr("no dead process of this run"), HasSubstr("(1 alive)")));
}

TEST_F(RecoverCommand, leaves_a_dead_process_to_another_that_is_at_it) {
  StandingRanks ranks(directory, {{"train_step"}});
  ranks.end(0, SIGKILL);
  const auto files = trace::find_ring_files(shm_dir(), "standing");
  ASSERT_EQ(files.size(), 1u);
  ASSERT_TRUE(files[0].claim());
  LensProcess lens(directory, {"recover", "standing", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("(1 just taken by another `lens recover`)"), Not(HasSubstr("alive"))));
}

TEST_F(RecoverCommand, tells_programs_of_a_directory_whose_name_is_no_text) {
  StandingRanks ranks(directory, {{"train_step"}}, {{"NEMO_LENS_FILE_DIR", directory.path() / "\xff"}});
  ranks.end(0, SIGKILL);
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_THAT(std::string(recovered[0]["file"]), HasSubstr("/\ufffd/traces-rank0-"));
}

TEST_F(RecoverCommand, prints_no_control_character_of_a_directory) {
  StandingRanks ranks(directory, {{"train_step"}}, {{"NEMO_LENS_FILE_DIR", directory.path() / "\x1b[31m"}});
  ranks.end(0, SIGKILL);
  LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("/\ufffd[31m/traces-rank0-"));
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
  EXPECT_THAT(failing.errors(), HasSubstr("what it holds is still there: free the space or the rights"));
  fs::remove(directory.path() / "traces");
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0]["spans_ended"], 5);
  EXPECT_EQ(recovered[0]["spans_truncated"], 1);
}

// Contract: 3.recover-into
TEST_F(RecoverCommand, writes_into_another_directory_where_the_file_names_none) {
  StandingRanks ranks(directory, {{"train_step"}});
  ranks.end(0, SIGKILL);
  const fs::path ring = fs::directory_iterator(shm_dir())->path();
  std::fstream(ring, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(offsetof(record::FileHeader, trace_directory))
      .put('x');
  LensProcess failing(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(failing.wait(), 1);
  EXPECT_THAT(failing.errors(), AllOf(HasSubstr("name a directory by --into; what it holds is still there\n"),
                                      Not(HasSubstr("free the space"))));
  const fs::path into = directory.path() / "new" / "traces";
  LensProcess lens(directory, {"recover", "--json", "--into", into, "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  const auto recovered = nlohmann::json::parse(lens.output());
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0]["spans_ended"], 5);
  EXPECT_EQ(fs::path(recovered[0]["file"]).parent_path(), into);
  EXPECT_TRUE(fs::exists(fs::path(recovered[0]["file"])));
}

TEST_F(RecoverCommand, says_what_is_no_file_of_rings) {
  fs::create_directories(shm_dir());
  std::ofstream(fs::path(shm_dir()) / "damaged.ring") << "not what it should be";
  LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr("damaged.ring is not a file of rings"));
}

/// What a process leaves in `directory` that cannot be recovered.
class LeftBehind {
 public:
  LeftBehind(const fs::path& directory, const std::string& name, std::string_view content, std::chrono::hours age)
      : path_(directory / name) {
    std::ofstream(path_, std::ios::binary) << content;
    fs::last_write_time(path_, fs::file_time_type::clock::now() - age);
  }
  bool is_there() const { return fs::exists(path_); }
  std::string path() const { return path_; }

 private:
  fs::path path_;
};

const std::string version_2 = std::string("LENSRING\2\0\0\0", 12) + std::string(8192, '\0');
using std::chrono::hours;

// Contract: 3.stale
TEST_F(RecoverCommand, removes_files_in_which_nothing_was_ever_recorded) {
  fs::create_directories(shm_dir());
  const LeftBehind unfinished(shm_dir(), "run-rank0-1700000000000-41.ring.new", "", hours(1)),
      blank(shm_dir(), "run-rank1-1700000000000-42.ring", std::string(3 << 20, '\0'), hours(1));
  LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(),
              AllOf(HasSubstr(unfinished.path() + ": its process died before it had recorded anything; removed"),
                    HasSubstr(blank.path() + ": its process died before it had recorded anything; removed")));
  EXPECT_TRUE(fs::is_empty(shm_dir()));
}

// Contract: 3.stale
TEST_F(RecoverCommand, keeps_for_a_day_what_it_cannot_read_however_old_its_time_of_change) {
  fs::create_directories(shm_dir());
  std::string damaged = version_2;
  damaged.replace(0, 8, 8, '\0');
  damaged.resize(3 << 20);
  const LeftBehind older(shm_dir(), "run-rank2-1700000000000-43.ring", version_2, hours(25)),
      no_magic(shm_dir(), "run-rank2-1700000000000-44.ring", damaged, hours(25)),
      cut_short(shm_dir(), "run-rank2-1700000000000-45.ring", version_2.substr(0, 100), hours(0));
  for (const char* expected : {"kept for a day as run-rank2-1700000000000-43.ring.unreadable", "no dead process"}) {
    LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
    EXPECT_EQ(lens.wait(), 0);
    EXPECT_THAT(lens.errors() + lens.output(), HasSubstr(expected));
    for (const LeftBehind* file : {&older, &no_magic, &cut_short}) {
      EXPECT_FALSE(file->is_there());
      EXPECT_TRUE(fs::exists(file->path() + ".unreadable")) << file->path();
    }
  }
  fs::last_write_time(older.path() + ".unreadable", fs::file_time_type::clock::now() - hours(25));
  LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr(older.path() + ".unreadable: no `lens` has read it for a day; removed"));
  EXPECT_FALSE(fs::exists(older.path() + ".unreadable"));
  EXPECT_TRUE(fs::exists(no_magic.path() + ".unreadable"));
}

// Contract: 3.stale
TEST_F(RecoverCommand, recovers_what_another_version_has_set_aside) {
  StandingRanks ranks(directory, {{"train_step"}});
  ranks.end(0, SIGKILL);
  const fs::path ring = fs::directory_iterator(shm_dir())->path();
  fs::rename(ring, ring.string() + ".unreadable");
  LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr(".unreadable: can be read by this version; taken back"));
  EXPECT_THAT(lens.output(), HasSubstr("5 spans that had ended and 1 left open"));
  EXPECT_TRUE(fs::is_empty(shm_dir()));
}

// Contract: 3.stale
TEST_F(RecoverCommand, touches_nothing_that_is_in_the_making_or_held_or_not_its_own) {
  fs::create_directories(shm_dir());
  const LeftBehind in_the_making(shm_dir(), "run-rank0-1700000000000-41.ring.new", "", hours(0)),
      held(shm_dir(), "run-rank0-1700000000000-42.ring.new", "", hours(1)),
      held_older(shm_dir(), "run-rank0-1700000000000-43.ring", version_2, hours(25)),
      foreign_name(shm_dir(), "backup.ring.new", "", hours(25)),
      foreign_content(shm_dir(), "run-rank0-1700000000000-45.ring", "notes of somebody", hours(25)),
      notes(shm_dir(), "notes.txt", "", hours(25));
  std::vector<int> locks;
  for (const LeftBehind* file : {&held, &held_older}) {
    locks.push_back(open(file->path().c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(locks.back(), LOCK_EX | LOCK_NB), 0);
  }
  LensProcess lens(directory, {"recover", "--shm-dir", shm_dir()});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(),
              AllOf(Not(HasSubstr("removed")), HasSubstr(held_older.path() + " has version 2 of the format")));
  for (const LeftBehind* file : {&in_the_making, &held, &held_older, &foreign_name, &foreign_content, &notes})
    EXPECT_TRUE(file->is_there()) << file->path();
  for (const int lock : locks) close(lock);
}

TEST_F(RecoverCommand, says_that_private_memory_cannot_be_seen) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"recover", "--shm-dir", ""}, {"top", "--once", "--shm-dir", ""}, {"set", "step", "--shm-dir", ""}}) {
    LensProcess lens(directory, command);
    EXPECT_EQ(lens.wait(), 1);
    EXPECT_THAT(lens.errors(), HasSubstr("SHM_DIR is empty"));
  }
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
  EXPECT_THAT(lens.errors(), HasSubstr("recovered 5 spans of rank 1 that had ended, and 1 left open"));
  EXPECT_TRUE(fs::is_empty(shm_dir()));
}

}  // namespace
}  // namespace lens
