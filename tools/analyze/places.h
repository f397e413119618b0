// SPDX-License-Identifier: Apache-2.0
// Where ranks stand: those that are inside the same spans are one place. Pure functions over what was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/trace/process_state.h"

namespace lens::analyze {

struct Place {
  std::vector<std::string> stack;  // innermost first; empty: outside of any span
  std::vector<int> ranks;          // sorted
  bool stands_apart = false;       // fewer ranks than the fullest place, or dead
  bool is_alive = true;
  double shortest_s = 0, longest_s = 0;  // in the innermost span
  std::optional<std::int64_t> first_iteration, last_iteration;
};

/// The fullest place first.
std::vector<Place> find_places(const std::vector<trace::ProcessState>& ranks);

/// "0-3,7" of sorted ranks.
std::string folded(const std::vector<int>& ranks);

}  // namespace lens::analyze
