// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "src/base/text.h"

namespace lens::launch {
namespace {

struct Pipe {
  FileDescriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "a pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// Signals are as a program expects to find them, whatever the supervisor made of them for itself.
void reset_signals() {
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child: nothing but system calls. Comes back only when the command cannot be executed.
void execute(pid_t starter, char** arguments, char** environment, int output, int errors) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != starter) _exit(128 + SIGKILL);  // it died before the request was made
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  reset_signals();
  execvpe(arguments[0], arguments, environment);
}

// The pipe closes when the command is executed; before that, it brings the reason why not.
int read_failure(int fd) {
  int error = 0;
  ssize_t got;
  do {
    got = read(fd, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() noexcept { return std::exchange(fd_, -1); }

void FileDescriptor::reset() noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void check_executable(const std::string& command, const Environment& environment) {
  auto is_program = [](const std::filesystem::path& file) {
    return std::filesystem::is_regular_file(file) && access(file.c_str(), X_OK) == 0;
  };
  if (command.find('/') != std::string::npos) {
    if (is_program(command)) return;
    throw CommandError(std::filesystem::exists(command) ? EACCES : ENOENT, command);
  }
  auto path = environment.find("PATH");
  if (path == environment.end()) return;  // the C library has a default
  for (std::string_view directory : base::split(path->second, ':')) {
    if (is_program(std::filesystem::path(directory) / command)) return;
  }
  throw CommandError(ENOENT, command);
}

RankProcess start_rank(int rank, const std::vector<std::string>& command, const Environment& environment) {
  std::vector<std::string> words = command, variables;
  for (const auto& [name, value] : environment) variables.push_back(name + '=' + value);
  std::vector<char*> arguments = pointers(words), entries = pointers(variables);
  Pipe output = make_pipe(), errors = make_pipe(), failure = make_pipe();

  pid_t starter = getpid(), pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "a process");
  if (pid == 0) {
    execute(starter, arguments.data(), entries.data(), output.write.get(), errors.write.get());
    int error = errno;
    [[maybe_unused]] ssize_t written = write(failure.write.get(), &error, sizeof error);
    _exit(127);
  }
  setpgid(pid, pid);  // in both processes, so that it holds before either goes on
  failure.write.reset();
  if (int error = read_failure(failure.read.get()); error != 0) {
    waitpid(pid, nullptr, 0);
    throw CommandError(error, command.front());
  }
  fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
  fcntl(errors.read.get(), F_SETFL, O_NONBLOCK);
  return {rank, pid, std::move(output.read), std::move(errors.read)};
}

void signal_rank(const RankProcess& rank, int signal) noexcept { kill(-rank.pid, signal); }

}  // namespace lens::launch
