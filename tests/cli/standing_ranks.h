// SPDX-License-Identifier: Apache-2.0
// Ranks of one run, each a process that stands inside spans.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/lens_process.h"

namespace lens::tests {

/// What ranks without a launcher need to be told: for the processes that the test starts while it lives.
class RunEnvironment {
 public:
  explicit RunEnvironment(const TemporaryDirectory& directory) {
    set("NEMO_LENS_ENABLED", "1");
    set("NEMO_LENS_EXPORTER", "file");
    set("NEMO_LENS_EXPORT_STRATEGY", "all_ranks");
    set("NEMO_LENS_SPAN_GROUPS", "all");
    set("NEMO_LENS_FILE_DIR", directory.path() / "traces");
    set("NEMO_LENS_RUN_ID", "standing");
    set_shm_dir(directory);
  }
  ~RunEnvironment() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  RunEnvironment(const RunEnvironment&) = delete;
  RunEnvironment& operator=(const RunEnvironment&) = delete;

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void set_shm_dir(const TemporaryDirectory& directory) { set("NEMO_LENS_SHM_DIR", directory.path() / "rings"); }

 private:
  std::vector<std::string> names_;
};

/// Rank i stands in `places[i]`, outermost span first. When it is made, every rank is there.
class StandingRanks {
 public:
  StandingRanks(const TemporaryDirectory& directory, const std::vector<std::vector<std::string>>& places) {
    RunEnvironment environment(directory);
    Signpost signpost(directory);
    environment.set("WORLD_SIZE", std::to_string(places.size()));
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      environment.set("RANK", std::to_string(rank));
      pids_.push_back(start(directory.path() / "signpost", places[rank]));
    }
    signpost.wait_for_lines(static_cast<int>(places.size()));
  }
  ~StandingRanks() {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) end(rank, SIGKILL);
  }
  StandingRanks(const StandingRanks&) = delete;
  StandingRanks& operator=(const StandingRanks&) = delete;

  void end(std::size_t rank, int signal) {
    if (pids_[rank] == 0) return;
    kill(pids_[rank], signal);
    waitpid(std::exchange(pids_[rank], 0), nullptr, 0);
  }

 private:
  static pid_t start(const std::string& signpost, std::vector<std::string> words) {
    words.insert(words.begin(), {LENS_STANDER, signpost});
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    execv(LENS_STANDER, pointers.data());
    _exit(99);
  }

  std::vector<pid_t> pids_;
};

}  // namespace lens::tests
