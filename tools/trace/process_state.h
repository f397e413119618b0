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

struct ProcessState {
  int rank = 0;
  int pid = 0;
  std::string file;  // its file of rings: processes of different containers may have one pid
  bool is_alive = false;
  std::vector<OpenFrame> stack;           // of the thread whose outermost span is the oldest; innermost first
  std::optional<std::int64_t> iteration;  // of the innermost span that has one, else of the last that ended
  std::uint64_t spans_recorded = 0, spans_dropped = 0;
  double spans_per_s = 0;  // between two readings; filled in by who makes them
  std::vector<std::string> problems;
};

ProcessState read_process_state(RingFile& rings);

}  // namespace lens::trace
