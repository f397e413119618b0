// SPDX-License-Identifier: Apache-2.0
// A program by other hands, that runs while a test does.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lens::tests {

/// Where scripts/interop-setup put the program; nothing when it is not installed.
std::optional<std::string> find_peer(const std::string& name);

/// Looks every few milliseconds whether something outside of this process has come to hold; false when it takes too
/// long.
bool holds_within(std::chrono::milliseconds most, const std::function<bool()>& holds);

class PeerProcess {
 public:
  /// Starts it, and returns once it listens on `ports`. Throws std::runtime_error with what it said when it does not.
  PeerProcess(const std::vector<std::string>& command, const std::vector<int>& ports, std::filesystem::path log);
  /// Kills it where it still runs.
  ~PeerProcess() { end(SIGKILL); }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Asks it to end, and waits until it has done what it does then. A second call does nothing.
  void stop() { end(SIGTERM); }

 private:
  void end(int signal);

  pid_t pid_ = 0;
};

}  // namespace lens::tests
