// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/peer_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/export/loopback.h"

namespace lens::tests {
namespace {

using namespace std::chrono_literals;

bool is_listening(int port) {
  const int socket = connect_to_loopback(port);
  if (socket >= 0) close(socket);
  return socket >= 0;
}

[[noreturn]] void become(std::vector<char*> arguments, const char* log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // it must not outlive a test that crashes
  const int output = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

std::optional<std::string> find_peer(const std::string& name) {
  const char* directory = std::getenv("LENS_INTEROP_BIN");
  if (!directory) return {};
  const auto path = std::filesystem::path(directory) / name;
  if (!std::filesystem::exists(path)) return {};
  return path;
}

bool holds_within(std::chrono::milliseconds most, const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

PeerProcess::PeerProcess(const std::vector<std::string>& command, const std::vector<int>& ports,
                         std::filesystem::path log) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) become(std::move(arguments), log.c_str());
  bool has_ended = false;
  for (const int port : ports)
    holds_within(20s, [&] {
      has_ended = has_ended || waitpid(pid_, nullptr, WNOHANG) != 0;
      return has_ended || is_listening(port);
    });
  if (has_ended) pid_ = 0;
  for (const int port : ports) {
    if (is_listening(port)) continue;
    end(SIGKILL);
    std::ostringstream said;
    said << command[0] << " does not listen: " << std::ifstream(log).rdbuf();
    throw std::runtime_error(said.str());
  }
}

void PeerProcess::end(int signal) {
  if (pid_ <= 0) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace lens::tests
