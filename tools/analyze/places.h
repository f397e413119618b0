// SPDX-License-Identifier: Apache-2.0
// Where ranks stand: those that are inside the same spans are one place. Pure functions over what was read.
//
// A rank may have several processes: earlier lives, and children that it forked. One of them stands for the rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/trace/process_state.h"

namespace lens::analyze {

/// Why somebody who looks for a hang should look at a place first.
enum class Mark {
  none,
  dead,
  apart,       // fewer ranks than in the fullest place
  behind,      // most ranks in the same spans are at a later iteration, or in all of equally full places
  here_first,  // the iterations are the same too, and this one's ranks have been there for the longest
};

struct Place {
  std::vector<std::string> stack;  // innermost first; empty: outside of any span
  std::vector<int> ranks;          // sorted
  Mark mark = Mark::none;
  bool is_alive = true;
  double shortest_s = 0, longest_s = 0;  // in the innermost span
  std::optional<std::int64_t> first_iteration, last_iteration;
};

/// The fullest place first, then those of ranks that are behind the most of those in the same spans, then the dead.
std::vector<Place> find_places(const std::vector<trace::ProcessState>& ranks);

struct Ranks {
  std::vector<trace::ProcessState> standing;  // one for each rank, sorted by rank
  std::vector<trace::ProcessState> dead;      // the other processes of these ranks that have died
};

/// For each rank stands a living process before a dead one, then one that has recorded anything, then the one with the
/// fewest forks behind it, then the one that began last.
Ranks choose_processes(std::vector<trace::ProcessState> processes);

/// "0-3,7" of sorted ranks.
std::string folded(const std::vector<int>& ranks);

}  // namespace lens::analyze
