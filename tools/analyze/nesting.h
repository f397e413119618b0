// SPDX-License-Identifier: Apache-2.0
// Self times and the time split of steps, from the spans of one process in the order in which they ended. A span ends
// before its parent does, so what its children covered is known by the time it comes.
//
// A span whose parent is in another process, as where work joins the step of another rank, takes its time from the step
// of its own process that encloses it.
//
// A child that comes after its parent (it outlived it, or another thread recorded it and was read later) no longer
// takes time away from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tools/analyze/category.h"
#include "tools/analyze/timeline.h"

namespace lens::analyze {

struct EndedSpan {
  std::uint64_t id;
  std::uint64_t parent_id;  // 0 for a root
  std::uint64_t start_ns, end_ns;
  Category category;
  bool has_remote_parent = false;
};

class Nesting {
 public:
  /// The span's self time: its duration less what its children cover of it. With `split`, also where all of its time
  /// went, which adds up to its duration; its own children then no longer show in its parent's split.
  std::uint64_t end_span(const EndedSpan& span, CategoryTimes* split = nullptr);

 private:
  using Open = std::unordered_map<std::uint64_t, Timeline>;

  std::uint64_t end_parent(const EndedSpan& span, Open::node_type node, CategoryTimes* split);
  Timeline* siblings_of(const EndedSpan& span);
  Timeline& children_of(std::uint64_t parent_id);
  Open::node_type take(std::uint64_t id);

  // Two generations bound the memory: parents that never come (they lie in another process, or were dropped) age out.
  Open young_, old_;
  std::vector<Open::node_type> spare_;
  Timeline foreign_;  // of the spans with a remote parent, since the last step
  bool has_foreign_ = false;
};

}  // namespace lens::analyze
