// SPDX-License-Identifier: Apache-2.0
// The file that a process shares with whoever looks at it: its bytes, and whether that process lives.
// Include it to read one part by part while its process goes on writing.
//
// Ownership: owns its descriptor; nothing is mapped, so that a file that changes or shrinks cannot fault.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lens::trace {

class SharedFile {
 public:
  /// Throws std::system_error.
  explicit SharedFile(std::filesystem::path path);
  ~SharedFile();
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

  /// Whether the process still holds its lock. Exact, whoever else looks at or claims the file meanwhile.
  bool is_alive() const;
  /// Takes a dead process's file, for as long as this object lives. False when the process lives, when somebody else
  /// has the file, or when its name is gone. std::system_error when the file is not this user's to take.
  bool claim() const;

  /// Whether so much can be read: the file has it now, and it is no more than any part of such a file.
  bool has(std::uint64_t offset, std::uint64_t bytes) const;
  /// Empty for what it has not; less than was asked for where the file shrinks meanwhile.
  std::string read(std::uint64_t offset, std::uint64_t bytes) const;

  // What no part of such a file exceeds; a damaged header must not make us read gigabytes.
  static constexpr std::uint64_t max_part_bytes = 8 << 20;

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace lens::trace
