// SPDX-License-Identifier: Apache-2.0
// Which of the groups that a run had enabled no span of its trace belongs to. Spans do not carry their group: a process
// that ends in order says it for all of its own, and the names of Megatron's spans tell it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lens/group.h"
#include "tools/trace/trace.h"

namespace lens::analyze {

struct GroupCoverage {
  std::string spec;  // that was enabled; empty: only the processes say which groups were
  std::vector<std::string> hit, never_hit;
  std::vector<std::string> unknown;  // enabled, and a span whose group nobody tells may be of it
  std::uint64_t span_count = 0;
  std::uint64_t other_span_count = 0;  // whose names are none of Megatron's
  std::vector<trace::Problem> problems = {};
};

/// Enabled is what processes say that they had on. Where not all say it: the spec in run.json, else `spec`, in
/// Megatron's vocabulary where the trace has its names, else in `vocabulary`. Throws std::invalid_argument when that
/// does not know a word of the spec.
GroupCoverage group_coverage(const trace::Trace& trace, const std::string& spec, const Vocabulary& vocabulary);

}  // namespace lens::analyze
