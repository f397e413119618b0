// SPDX-License-Identifier: Apache-2.0
// What of a trace directory one destination has taken: a file beside the trace (docs/send.md), appended to after each
// request, so that whoever is killed in between has told all but the request in flight.
//
// Threads: one at a time. A lock on the file keeps other processes from sending the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace lens::send {

class SentLog {
 public:
  /// Opens or makes the log of a destination in `directory`. Throws std::system_error when it cannot be written,
  /// std::runtime_error when another process holds it or when it cannot be understood.
  SentLog(const std::filesystem::path& directory, std::string_view destination);
  ~SentLog();
  SentLog(const SentLog&) = delete;
  SentLog& operator=(const SentLog&) = delete;

  /// How much of a file, named as in its directory, was taken.
  std::uint64_t sent_bytes(const std::string& file) const;
  /// Throws std::system_error.
  void add(const std::string& file, std::uint64_t sent_bytes);
  /// Nothing was taken.
  void clear();

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void read();
  void write(const std::string& line);

  std::filesystem::path path_;
  std::string destination_;
  int file_ = -1;
  std::map<std::string, std::uint64_t, std::less<>> sent_;
};

}  // namespace lens::send
