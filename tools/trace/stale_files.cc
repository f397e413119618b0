// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/stale_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <regex>
#include <string_view>

#include <fmt/format.h>

#include "src/record/layout.h"

namespace lens::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ring_suffix = ".ring", unreadable_suffix = ".unreadable";

/// The run id in the name of a file of rings, `<run id>-rank<r>-<start>-<pid>.ring`, finished, unfinished or set aside.
std::optional<std::string> run_in_name(const std::string& name) {
  static const std::regex form(R"((.*)-rank-?\d+-\d+-\d+\.ring(\.new|\.unreadable)?)");
  std::smatch parts;
  if (!std::regex_match(name, parts, form)) return std::nullopt;
  return parts[1];
}

enum class Kind { whole, empty, other_version, damaged, foreign };

Kind kind_of(int file, std::int64_t size_bytes) {
  std::string begin(sizeof(record::FileHeader), '\0');
  const ssize_t got = pread(file, begin.data(), begin.size(), 0);
  if (got < 0) return Kind::foreign;
  if (begin.find_first_not_of('\0') == std::string::npos) return Kind::empty;
  const auto& header = *reinterpret_cast<const record::FileHeader*>(begin.data());
  constexpr std::int64_t least_bytes = 1 << 20;  // a file of rings takes more before it has a ring
  if (std::memcmp(header.magic, record::layout_magic, sizeof header.magic) != 0)
    return size_bytes >= least_bytes ? Kind::damaged : Kind::foreign;
  const bool is_ours = header.version == record::layout_version && header.header_bytes == sizeof(record::FileHeader) &&
                       header.ring_header_bytes == sizeof(record::RingHeader);
  if (!is_ours) return Kind::other_version;
  return got == ssize_t(begin.size()) ? Kind::whole : Kind::damaged;
}

bool is_older(const struct stat& status, std::chrono::seconds age) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::seconds(status.st_mtim.tv_sec) >= age;
}

std::optional<StaleFile> said(const fs::path& path, std::string what, int result, std::string_view done) {
  if (result != 0 && errno == ENOENT) return std::nullopt;  // another `lens recover` was here first
  what += result == 0 ? done : std::strerror(errno);
  return StaleFile{path, std::move(what)};
}

// The time first: one that died between the two must not leave a file that looks a day old.
std::optional<StaleFile> set_aside(int file, const fs::path& path, const fs::path& ring_path, Kind kind) {
  const std::string aside = ring_path.string() + std::string(unreadable_suffix);
  int result = futimens(file, nullptr);
  if (result == 0) result = rename(path.c_str(), aside.c_str());
  return said(
      path, kind == Kind::damaged ? "is damaged; " : "was left by another version of Lens; ", result,
      "kept for a day as " + fs::path(aside).filename().string() + ", for a `lens` of its version; then removed");
}

// The lock is asked for last: a process that is making its file, and finds it taken, would do without.
std::optional<StaleFile> clear_if_stale(int file, const fs::path& path) {
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return std::nullopt;
  const bool is_aside = path.extension() == unreadable_suffix, is_ring = path.extension() == ring_suffix;
  const fs::path ring_path = is_ring ? path : path.parent_path() / path.stem();
  const Kind kind = kind_of(file, status.st_size);
  if (is_aside && kind != Kind::whole && !is_older(status, age_of_unreadable)) return std::nullopt;
  if (!is_aside && (kind == Kind::foreign || (kind == Kind::whole && is_ring))) return std::nullopt;
  if (!is_aside && (kind == Kind::empty || !is_ring) && !is_older(status, age_of_unfinished)) return std::nullopt;
  if (flock(file, LOCK_SH | LOCK_NB) != 0) return std::nullopt;
  if (kind == Kind::whole)
    return said(path, "can be read by this version; ", rename(path.c_str(), ring_path.c_str()), "taken back");
  if (is_aside) return said(path, "no `lens` has read it for a day; ", unlink(path.c_str()), "removed");
  if (kind == Kind::empty)
    return said(path, "its process died before it had recorded anything; ", unlink(path.c_str()), "removed");
  return set_aside(file, path, ring_path, kind);
}

}  // namespace

std::vector<StaleFile> clear_stale_files(const fs::path& directory, const std::string& run_id) {
  std::vector<StaleFile> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const auto run = run_in_name(entry.path().filename());
    if (!run || (!run_id.empty() && *run != run_id)) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    if (auto stale = clear_if_stale(file, entry.path())) found.push_back(std::move(*stale));
    close(file);
  }
  std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) { return left.path < right.path; });
  return found;
}

}  // namespace lens::trace
