// SPDX-License-Identifier: Apache-2.0
// Files of dead processes which this program cannot recover, and which would take up shared memory for ever: of a
// process that died while it made its file, of another version of the format, damaged at their beginning.
//
// The time of a file's last change tells nothing of its process: memory that is mapped is written to without it. So
// what may hold something is first set aside, as `<name>.unreadable`, and removed a day after that.
//
// Errors: none; what cannot be looked at is left, what cannot be renamed or removed too, and `what` says why.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace lens::trace {

struct StaleFile {
  std::filesystem::path path;
  std::string what;  // it is, and what was done with it
};

/// How old a file must be in which nothing was ever recorded: so that none is that is being made.
inline constexpr std::chrono::minutes age_of_unfinished{1};
/// How long a file is kept that was set aside: for a `lens` that can read it.
inline constexpr std::chrono::hours age_of_unreadable{24};

/// Removes such files of a run, or (empty) of all, sets them aside, or takes back what another version of this program
/// has set aside and this one can read. What has not a name and the content that processes of ours give their files,
/// what belongs to another user, what a process holds and what is younger is not touched.
std::vector<StaleFile> clear_stale_files(const std::filesystem::path& directory, const std::string& run_id);

}  // namespace lens::trace
