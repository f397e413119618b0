// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/directories.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "src/base/file.h"
#include "src/base/file_lock.h"

namespace lens::doctor {
namespace {

namespace fs = std::filesystem;

/// The directory, or what is there of what is above it.
fs::path nearest_that_exists(const std::string& directory) {
  std::error_code ignored;
  fs::path path = fs::absolute(directory, ignored);
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

}  // namespace

std::string why_not_writable(const std::string& directory) {
  const fs::path there = nearest_that_exists(directory);
  std::error_code ignored;
  if (!fs::is_directory(there, ignored)) return there.string() + " is not a directory";
  std::string probe = there / ".lens-doctor-XXXXXX";
  if (mkdtemp(probe.data()) == nullptr) return there.string() + ": " + strerror(errno);
  rmdir(probe.c_str());
  return "";
}

std::string why_no_locks(const std::string& directory) {
  std::string probe = nearest_that_exists(directory) / ".lens-doctor-XXXXXX";
  const int file = mkstemp(probe.data());
  if (file < 0) return "";
  const std::string why = base::lock_file(file) == base::FileLock::none ? strerror(errno) : "";
  close(file);
  unlink(probe.c_str());
  return why;
}

std::string why_no_rings(const std::string& directory) {
  std::error_code ignored;
  const fs::path path = fs::absolute(directory, ignored);
  if (fs::exists(path, ignored)) {
    const std::string why = base::why_not_own_directory(path);
    return why.empty() ? why_not_writable(path) : path.string() + ": " + why;
  }
  if (!fs::is_directory(path.parent_path(), ignored)) return "there is no directory " + path.parent_path().string();
  return why_not_writable(path);
}

std::optional<std::uint64_t> free_bytes(const std::string& directory) {
  struct statvfs status;
  if (statvfs(nearest_that_exists(directory).c_str(), &status) != 0) return std::nullopt;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

}  // namespace lens::doctor
