// SPDX-License-Identifier: Apache-2.0
// Real processes that die, and what they leave behind.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "tests/flow/recorded_trace.h"
#include "tools/trace/recovery.h"

namespace lens::tests {

/// A forked process. It leaves in order when `body` returns; one that hangs is ended by SIGALRM.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    std::fflush(nullptr);  // or it would be printed twice
    pid_ = fork();
    if (pid_ != 0) return;
    constexpr unsigned hangs_after_s = 60;
    alarm(hangs_after_s);
    body();
    std::exit(testing::Test::HasFailure());
  }
  ~Child() {
    if (pid_ > 0) kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const noexcept { ::kill(pid_, number); }
  void kill() {
    signal(SIGKILL);
    wait();
  }
  /// As waitpid tells it.
  int wait() {
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
};

/// Memory that a process shares with its children, zero at first: what they tell in it survives their death.
template <class T>
class Shared {
 public:
  Shared() : memory_(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    new (memory_) T{};
  }
  ~Shared() { munmap(memory_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T& operator*() const noexcept { return *static_cast<T*>(memory_); }
  T* operator->() const noexcept { return static_cast<T*>(memory_); }

 private:
  void* memory_;
};

/// Where the processes of one run keep their rings and write their traces.
class RunPlace {
 public:
  RunPlace() = default;
  explicit RunPlace(const std::filesystem::path& where) : directory_(where) {}

  std::filesystem::path rings() const { return directory_.path() / "rings"; }
  std::filesystem::path traces() const { return directory_.path() / "traces"; }

  Config config() const {
    Config config = recording_config(traces());
    config.shm_dir = rings();
    config.standard.span_batch.schedule_delay = std::chrono::milliseconds(5);
    config.on_error = [](std::string_view line) { std::fprintf(stderr, "%.*s\n", int(line.size()), line.data()); };
    return config;
  }

  std::size_t ring_file_count() const {
    if (!std::filesystem::exists(rings())) return 0;
    const std::filesystem::directory_iterator files(rings()), end;
    return static_cast<std::size_t>(std::distance(files, end));
  }

  /// Of every dead process. Nothing that it finds may be damaged.
  std::vector<trace::Recovery> recover() const {
    std::vector<trace::Recovery> recoveries;
    for (trace::RingFile& file : trace::find_ring_files(rings(), "")) {
      auto recovery = trace::recover(file);
      if (!recovery) continue;
      for (const std::string& problem : recovery->problems) ADD_FAILURE() << problem;
      recoveries.push_back(std::move(*recovery));
    }
    return recoveries;
  }

  RecordedTrace trace() const { return read_trace(traces()); }

 private:
  TemporaryDirectory directory_;
};

}  // namespace lens::tests
