// SPDX-License-Identifier: Apache-2.0
// What a recording process on this machine is inside, read from its file of rings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/trace/ring_file.h"

namespace lens::trace {

struct OpenFrame {
  std::string name;
  double open_s = 0;  // for how long; of a dead process, until the last that it recorded
};

/// Nothing that a process tried to export was taken.
struct ExportFailure {
  double for_s = 0;  // of a dead process, until the last that it recorded
  std::string text;  // why
};

struct ProcessState {
  int rank = 0;
  int pid = 0;
  std::string file;  // its file of rings: processes of different containers may have one pid
  bool is_alive = false;
  std::optional<int> fork_count;  // none: it has recorded nothing yet
  std::int64_t start_unix_ns = 0;
  std::vector<OpenFrame> stack;           // of the thread whose outermost span is the oldest; innermost first
  std::optional<std::int64_t> iteration;  // of the innermost span that has one, else of the last that ended
  std::uint64_t spans_recorded = 0, spans_dropped = 0;
  double spans_per_s = 0;  // between two readings; filled in by who makes them
  std::optional<ExportFailure> export_failure;
  std::optional<double> stalled_for_s;  // a living pipeline that has taken nothing out of the rings, nor looked
  std::vector<std::string> problems;
};

ProcessState read_process_state(RingFile& rings);

}  // namespace lens::trace
