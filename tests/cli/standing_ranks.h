// SPDX-License-Identifier: Apache-2.0
// Ranks of one run, each a process that stands inside spans.
#pragma once

#include <algorithm>
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
  using Variables = std::vector<std::pair<std::string, std::string>>;

  StandingRanks(const TemporaryDirectory& directory, const std::vector<std::vector<std::string>>& places,
                Variables variables = {})
      : directory_(directory), variables_(std::move(variables)), pids_(places.size()) {
    Signpost signpost(directory);
    int processes = 0;
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      start_rank(rank, places[rank]);
      processes += 1 + int(std::count(places[rank].begin(), places[rank].end(), "fork"));
    }
    signpost.wait_for_lines(processes);
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
  /// Another life of a rank that has ended.
  void restart(std::size_t rank, const std::vector<std::string>& place) {
    Signpost signpost(directory_);
    start_rank(rank, place);
    signpost.wait_for_lines(1);
  }
  pid_t pid(std::size_t rank) const { return pids_[rank]; }

 private:
  void start_rank(std::size_t rank, const std::vector<std::string>& place) {
    RunEnvironment environment(directory_);
    environment.set("WORLD_SIZE", std::to_string(pids_.size()));
    environment.set("RANK", std::to_string(rank));
    for (const auto& [name, value] : variables_) environment.set(name, value);
    pids_[rank] = start(directory_.path() / "signpost", place);
  }
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

  const TemporaryDirectory& directory_;
  Variables variables_;  // beside those of every run
  std::vector<pid_t> pids_;
};

}  // namespace lens::tests
