// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/report_json.h"

#include <nlohmann/json.hpp>

#include "tools/trace/json_text.h"

namespace lens::cli {
namespace {

using json = nlohmann::ordered_json;
using analyze::Report;

template <typename Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

json exits_json(const std::vector<trace::RankExit>& exits) {
  json list = json::array();
  for (const trace::RankExit& exit : exits) {
    json entry{{"rank", exit.rank}};
    if (exit.signal != 0) {
      entry["signal"] = exit.signal;
    } else {
      entry["exit_code"] = exit.exit_code;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

json run_json(const analyze::RunFacts& run) {
  return {{"run_id", run.run_id},
          {"service", run.service},
          {"command", run.command},
          {"span_groups", run.span_groups},
          {"ranks", run.ranks},
          {"world_size", run.world_size},
          {"hosts", run.hosts},
          {"stages", run.stages},
          {"processes", run.process_count},
          {"exits", exits_json(run.exits)},
          {"failed_rank", or_null(run.failed_rank)},
          {"start_ns", run.start_ns},
          {"end_ns", run.end_ns},
          {"wall_ns", run.end_ns - run.start_ns},
          {"spans", run.span_count},
          {"error_spans", run.error_count},
          {"log_records", run.log_record_count},
          {"files", run.file_count},
          {"bytes", run.size_bytes}};
}

json step_json(const std::optional<analyze::StepTime>& step) {
  if (!step) return nullptr;
  json split;
  for (std::size_t i = 0; i < analyze::category_count; ++i) {
    split[std::string(to_string(static_cast<analyze::Category>(i)))] = step->split_ns[i];
  }
  return {{"span", step->span_name},
          {"count", step->count},
          {"total_ns", step->total_ns},
          {"median_ns", step->median_ns},
          {"p95_ns", step->p95_ns},
          {"worst_ns", step->worst_ns},
          {"worst_iteration", or_null(step->worst_iteration)},
          {"worst_rank", or_null(step->worst_rank)},
          {"split_ns", std::move(split)}};
}

json name_json(const analyze::NameRow& row) {
  return {{"name", row.name},
          {"count", row.count},
          {"total_ns", row.total_ns},
          {"self_ns", row.self_ns},
          {"median_ns", row.median_ns},
          {"p95_ns", row.p95_ns},
          {"slowest_rank", or_null(row.slowest_rank)},
          {"slowest_rank_mean_ns", row.slowest_rank ? json(row.slowest_mean_ns) : json(nullptr)}};
}

// Nobody counted is not the same as nothing lost.
json losses_json(const analyze::Losses& losses) {
  bool is_known = losses.processes_counted > 0;
  return {{"processes_counted", losses.processes_counted},
          {"spans_recorded", is_known ? json(losses.spans_recorded) : json(nullptr)},
          {"spans_dropped", is_known ? json(losses.spans_dropped) : json(nullptr)},
          {"spans_truncated", losses.spans_truncated}};
}

json problem_json(const trace::Problem& problem) {
  return {
      {"file", problem.file.filename().string()}, {"offset_bytes", problem.offset_bytes}, {"reason", problem.reason}};
}

}  // namespace

std::string report_json(const Report& report) {
  json names = json::array(), problems = json::array();
  for (const analyze::NameRow& row : report.names) names.push_back(name_json(row));
  for (const trace::Problem& problem : report.problems) problems.push_back(problem_json(problem));
  json object{{"run", run_json(report.run)},
              {"step", step_json(report.step)},
              {"names", std::move(names)},
              {"losses", losses_json(report.losses)},
              {"problems", std::move(problems)}};
  return trace::json_text(object);
}

}  // namespace lens::cli
