// SPDX-License-Identifier: Apache-2.0
// What stands beside the traces of a run: run.json, which `lens run` writes, and the status files, one per process,
// which the library writes at shutdown. Both may be missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lens::trace {

struct RankExit {
  int rank = 0;
  int exit_code = 0;  // of a rank that exited
  int signal = 0;     // of a rank that was killed; 0 otherwise
};

/// "exited with code 3", "was killed by SIGKILL".
std::string describe(const RankExit& exit);

struct RunFile {
  std::string run_id;
  std::vector<std::string> command;
  std::string span_groups;  // as the ranks were told; empty when the ranks' default applied
  int world_size = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;  // 0 while the run lasts
  std::vector<RankExit> ranks = {};
  std::optional<int> failed_rank = std::nullopt;  // the first to fail; the others may have been ended because of it
};

/// Replaces run.json in one step, so that a reader never sees half of it. Throws std::system_error.
void write_run_file(const std::filesystem::path& directory, const RunFile& run);

/// Nothing when there is none; throws std::invalid_argument when it cannot be understood.
std::optional<RunFile> read_run_file(const std::filesystem::path& directory);

/// What a process counted over its life.
struct Status {
  std::uint64_t spans_recorded = 0;
  std::uint64_t spans_exported = 0;
  std::uint64_t spans_dropped = 0;
  std::uint64_t spans_truncated = 0;
  std::uint64_t spans_sampled_out = 0;
  /// Of the groups that were on. Nothing where the process could not tell: it was killed, and has been recovered.
  struct Groups {
    std::vector<std::string> with_spans, without_spans;
  };
  std::optional<Groups> groups = {};
  std::string process = {};  // as the names of its files tell it: "rank0-1795981548793-4711"
};

/// Whose a file of the directory is: its name without its kind, its form and its number.
std::string process_of(const std::filesystem::path& file);

/// Throws std::invalid_argument when the file is no status file.
Status read_status_file(const std::filesystem::path& file);

}  // namespace lens::trace
