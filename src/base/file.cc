// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lens::base {

std::optional<std::string> read_file(const std::string& path, std::size_t most_bytes) {
  // Opening a pipe that nobody writes to would wait, too.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return std::nullopt;
  struct stat status;
  bool is_sound = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  std::string content;
  while (is_sound && content.size() < most_bytes) {
    char block[16 << 10];
    const ssize_t bytes = read(file, block, std::min(sizeof block, most_bytes - content.size()));
    if (bytes < 0 && errno == EINTR) continue;
    is_sound = bytes >= 0;
    if (bytes <= 0) break;
    content.append(block, static_cast<std::size_t>(bytes));
  }
  close(file);
  if (!is_sound) return std::nullopt;
  return content;
}

std::string why_not_own_directory(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
    return "not a directory of this user";
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "others may write to it; `chmod go-w` it" : "";
}

bool write_all(int file, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace lens::base
