// SPDX-License-Identifier: Apache-2.0
// The program `lens` as its users have it: a process with arguments, output, signals and an exit code.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace lens::tests {

class LensProcess {
 public:
  /// Starts it in `directory`, where its output goes to the files stdout and stderr. `in_child` is called before.
  LensProcess(const TemporaryDirectory& directory, std::vector<std::string> arguments, void (*in_child)() = nullptr)
      : directory_(directory) {
    arguments.insert(arguments.begin(), LENS_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    if (chdir(directory.path().c_str()) != 0) _exit(99);
    redirect("stdout", STDOUT_FILENO);
    redirect("stderr", STDERR_FILENO);
    if (in_child) in_child();
    execv(LENS_PROGRAM, pointers.data());
    _exit(99);
  }

  ~LensProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  LensProcess(const LensProcess&) = delete;
  LensProcess& operator=(const LensProcess&) = delete;

  void signal(int number) const { kill(pid_, number); }

  /// The exit code; -1 when it was killed.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string output() const { return directory_.read("stdout"); }
  std::string errors() const { return directory_.read("stderr"); }

 private:
  static void redirect(const char* file, int to) {
    int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    dup2(fd, to);
    close(fd);
  }

  const TemporaryDirectory& directory_;
  pid_t pid_;
};

/// A named pipe by which ranks tell that they have come to some point; a reader waits without polling.
class Signpost {
 public:
  explicit Signpost(const TemporaryDirectory& directory) : path_(directory.path() / "signpost") {
    mkfifo(path_.c_str(), 0600);
    // Open for writing too, so that it does not end between one rank that writes and the next.
    fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Signpost() { close(fd_); }
  Signpost(const Signpost&) = delete;
  Signpost& operator=(const Signpost&) = delete;

  /// Blocks until `count` lines have come.
  void wait_for_lines(int count) {
    for (char byte; count > 0 && read(fd_, &byte, 1) == 1;) count -= byte == '\n';
  }

  /// Blocks until every rank that holds it open is gone.
  void wait_for_end() {
    int only_reading = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    close(fd_);
    fd_ = only_reading;
    for (char byte; read(fd_, &byte, 1) == 1;) {
    }
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

}  // namespace lens::tests
