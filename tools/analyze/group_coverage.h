// SPDX-License-Identifier: Apache-2.0
// Which of the groups that a run had enabled no span of its trace belongs to. Spans do not carry their group: the names
// of Megatron's tell it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lens/group.h"
#include "tools/trace/trace.h"

namespace lens::analyze {

struct GroupCoverage {
  std::string spec;  // that was enabled
  std::vector<std::string> hit, never_hit;
  std::uint64_t span_count = 0;
  std::uint64_t other_span_count = 0;  // whose names are none of Megatron's: their groups are not known
  std::vector<trace::Problem> problems = {};
};

/// Of the spec in run.json, else of `spec`; in Megatron's vocabulary where the trace has its names, else in
/// `vocabulary`. Throws std::invalid_argument when it does not know a word of the spec.
GroupCoverage group_coverage(const trace::Trace& trace, const std::string& spec, const Vocabulary& vocabulary);

}  // namespace lens::analyze
