// SPDX-License-Identifier: Apache-2.0
// What a process and its files take of memory.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace lens::tests {

/// Memory of this process that no file is behind.
inline std::uint64_t private_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
  return 0;
}

/// What a file really takes: holes take nothing.
inline std::uint64_t allocated_bytes(const std::filesystem::path& file) {
  constexpr std::uint64_t block_bytes = 512;
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? std::uint64_t(status.st_blocks) * block_bytes : 0;
}

/// The same of all files in a directory.
inline std::uint64_t allocated_bytes_in(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) bytes += allocated_bytes(entry.path());
  return bytes;
}

}  // namespace lens::tests
