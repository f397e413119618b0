// SPDX-License-Identifier: Apache-2.0
// What of a trace directory one destination has taken: a file beside the trace (docs/send.md), appended to after each
// request, or part of one, so that whoever is killed in between has told all but the request in flight.
//
// Threads: one at a time. A lock on the file keeps other processes from sending the same, where there are locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace lens::send {

class SentLog {
 public:
  /// Opens or makes the log of a destination in `directory`. Throws std::system_error when it cannot be written or
  /// locked, std::runtime_error when another process holds it or when it cannot be understood.
  SentLog(const std::filesystem::path& directory, std::string_view destination);
  ~SentLog();
  SentLog(const SentLog&) = delete;
  SentLog& operator=(const SentLog&) = delete;

  /// How much of a file was taken: requests up to some byte, and the first items of the one that begins there.
  struct Sent {
    std::uint64_t bytes = 0, items = 0;
  };
  /// Of a file that is named as in its directory.
  Sent sent(const std::string& file) const;
  /// Throws std::system_error.
  void add(const std::string& file, Sent sent);
  /// Nothing was taken.
  void clear();

  /// False where the file system has no locks: another process may send the same.
  bool is_locked() const noexcept { return is_locked_; }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void lock();
  void read();
  void write(const std::string& line);

  std::filesystem::path path_;
  std::string destination_;
  int file_ = -1;
  bool is_locked_ = true;
  std::map<std::string, Sent, std::less<>> sent_;
};

}  // namespace lens::send
