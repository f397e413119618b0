// SPDX-License-Identifier: Apache-2.0
// How many spans each process records in a second. Include it where processes are read again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/process_state.h"

namespace lens::trace {

class SpanRates {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Sets `spans_per_s` from the reading before: 0 at a process's first, and after telemetry was set up anew in it,
  /// when it counts from the beginning.
  void fill(std::vector<ProcessState>& processes, Time now);

 private:
  std::map<std::string, std::pair<Time, std::uint64_t>> last_;  // by file of rings
};

}  // namespace lens::trace
