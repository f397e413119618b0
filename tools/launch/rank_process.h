// SPDX-License-Identifier: Apache-2.0
// One rank as a child process, its output in pipes.
//
// A rank leads a process group of its own: a signal reaches everything that it started, and a ^C at the terminal
// reaches it once, passed on by who supervises it. It reads nothing from stdin, and is killed when its starter dies.
#pragma once

#include <sys/types.h>

#include <string>
#include <system_error>
#include <vector>

#include "tools/launch/environment.h"

namespace lens::launch {

/// A file descriptor that closes itself.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const noexcept { return fd_; }
  int release() noexcept;
  void reset() noexcept;
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

struct RankProcess {
  int rank = 0;
  pid_t pid = 0;
  FileDescriptor output, errors;  // to read without blocking
};

/// The command cannot be executed: ENOENT when there is none, EACCES when it is no program.
class CommandError : public std::system_error {
 public:
  CommandError(int error, const std::string& command) : std::system_error(error, std::generic_category(), command) {}
};

/// Throws CommandError when the command is not there or may not be executed, so that a run need not be begun.
void check_executable(const std::string& command, const Environment& environment);

/// Starts the command. Throws CommandError, and std::system_error when the system has no room for it.
RankProcess start_rank(int rank, const std::vector<std::string>& command, const Environment& environment);

/// To the rank and everything that it started.
void signal_rank(const RankProcess& rank, int signal) noexcept;

}  // namespace lens::launch
