// SPDX-License-Identifier: Apache-2.0
// Takes out of a dead process's file of rings what it had recorded: the spans that ended and were not exported yet,
// and what was open, marked truncated. Writes them as a trace file of its own beside the process's.
//
// Errors: std::system_error when the trace directory cannot be written, std::runtime_error when the file is damaged
//         where it says which; then the file of rings stays. What else is damaged is a problem, and the rest is taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/trace/ring_file.h"

namespace lens::trace {

struct Recovery {
  int rank = 0, pid = 0;
  std::uint64_t ended = 0;      // spans that had ended and were not exported
  std::uint64_t truncated = 0;  // spans that were open
  std::uint64_t log_records = 0;
  std::filesystem::path file, logs_file;  // what was written; empty when there was nothing to write
  std::vector<std::string> problems;
};

/// Writes to the trace directory that the file names, or to `into` where that is given. Nothing when the process lives
/// or somebody else recovers it. Afterwards its file of rings is gone, so that a second call finds nothing; a call that
/// is itself killed leaves either nothing or the whole.
std::optional<Recovery> recover(RingFile& rings, const std::filesystem::path& into = {});

}  // namespace lens::trace
