// SPDX-License-Identifier: Apache-2.0
// Where the time of a run went: the findings of `lens report`. docs/report.md says what each one means.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/analyze/category.h"
#include "tools/trace/trace.h"

namespace lens::analyze {

struct RunFacts {
  std::string run_id, service;
  std::vector<std::string> command;  // from run.json, as the next three are
  std::string span_groups;
  std::vector<trace::RankExit> exits;
  std::optional<int> failed_rank;
  std::set<int> ranks;  // that recorded spans
  int world_size = 0;   // 0 when nothing says it
  std::set<std::string> hosts;
  std::set<int> stages;
  std::uint64_t process_count = 0;
  std::uint64_t start_ns = 0, end_ns = 0;  // first start and last end of any span
  std::uint64_t span_count = 0, error_count = 0;
  std::uint64_t file_count = 0, size_bytes = 0;
  std::uint64_t log_record_count = 0;
};

struct StepTime {
  std::string span_name;
  std::uint64_t count = 0;
  std::uint64_t median_ns = 0, p95_ns = 0, worst_ns = 0;
  std::optional<std::int64_t> worst_iteration;
  std::optional<int> worst_rank;
  CategoryTimes split_ns{};  // of all steps together; adds up to their total
  std::uint64_t total_ns = 0;
};

struct NameRow {
  std::string name;
  std::uint64_t count = 0, total_ns = 0, self_ns = 0, median_ns = 0, p95_ns = 0;
  std::optional<int> slowest_rank = std::nullopt;  // by its mean duration
  std::uint64_t slowest_mean_ns = 0;
};

struct Losses {
  std::uint64_t processes_counted = 0;  // those that shut down in order and left their counters
  std::uint64_t spans_recorded = 0, spans_dropped = 0;
  std::uint64_t spans_truncated = 0;  // still open at shutdown; told by the spans themselves
};

struct Report {
  RunFacts run;
  std::optional<StepTime> step;
  std::vector<NameRow> names;  // by self time, greatest first
  Losses losses;
  std::vector<trace::Problem> problems;
};

/// Reads the whole trace once. `step_span` names the spans that are the steps; empty: the best known name in the trace.
Report make_report(const trace::Trace& trace, const std::string& step_span = {});

}  // namespace lens::analyze
