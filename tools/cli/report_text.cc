// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/report_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/cli/text_format.h"

namespace lens::cli {
namespace {

using analyze::Category;
using analyze::Report;

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

void add_fact(std::string& text, std::string_view name, const std::string& value) {
  if (!value.empty()) text += fmt::format("  {:<12}{}\n", name, printable(value));
}

std::string ranks_text(const analyze::RunFacts& run) {
  std::string text =
      run.world_size > 0 ? fmt::format("{} of {}", run.ranks.size(), run.world_size) : std::to_string(run.ranks.size());
  if (!run.hosts.empty()) {
    text += fmt::format(" on {}", run.hosts.size() == 1 ? *run.hosts.begin() : format_count(run.hosts.size(), "host"));
  }
  if (!run.stages.empty()) text += fmt::format(", {}", format_count(run.stages.size(), "pipeline stage"));
  return text;
}

std::string failure_text(const analyze::RunFacts& run) {
  if (!run.failed_rank) return {};
  for (const trace::RankExit& exit : run.exits) {
    if (exit.rank == *run.failed_rank) return fmt::format("rank {} {}", exit.rank, describe(exit));
  }
  return {};
}

std::string spans_text(const analyze::RunFacts& run) {
  double bytes_per_span =
      static_cast<double>(run.size_bytes) / static_cast<double>(std::max<std::uint64_t>(1, run.span_count));
  return fmt::format("{} in {}, {} ({:.1f} bytes per span)", format_count(run.span_count),
                     format_count(run.file_count, "file"), format_bytes(run.size_bytes), bytes_per_span);
}

std::string logs_text(const analyze::RunFacts& run) {
  return run.log_record_count == 0 ? "" : format_count(run.log_record_count);
}

std::string losses_text(const Report& report) {
  const analyze::Losses& losses = report.losses;
  std::string text;
  if (losses.processes_counted == 0) {
    text = "not known (no process shut down in order)";
  } else {
    text = format_count(losses.spans_dropped);
    if (losses.processes_counted < report.run.process_count) {
      text += fmt::format(" (of {} of {} processes; the others did not shut down in order)", losses.processes_counted,
                          report.run.process_count);
    }
  }
  if (losses.spans_truncated > 0)
    text += fmt::format("; {} still open at shutdown", format_count(losses.spans_truncated));
  return text;
}

std::string run_section(const Report& report) {
  const analyze::RunFacts& run = report.run;
  std::string text = fmt::format("Run {}\n", run.run_id.empty() ? "without an id" : printable(run.run_id));
  add_fact(text, "service", run.service);
  add_fact(text, "command", joined(run.command));
  add_fact(text, "ranks", ranks_text(run));
  add_fact(text, "failed", failure_text(run));
  add_fact(text, "span groups", run.span_groups);
  add_fact(text, "wall time", format_duration(run.end_ns - run.start_ns));
  add_fact(text, "spans", spans_text(run));
  if (run.error_count > 0) add_fact(text, "errors", format_count(run.error_count, "span") + " with status ERROR");
  add_fact(text, "log records", logs_text(run));
  add_fact(text, "dropped", losses_text(report));
  return text;
}

std::string worst_text(const analyze::StepTime& step) {
  std::vector<std::string> where;
  if (step.worst_iteration) where.push_back(fmt::format("iteration {}", *step.worst_iteration));
  if (step.worst_rank) where.push_back(fmt::format("rank {}", *step.worst_rank));
  return where.empty() ? "" : fmt::format(" ({})", fmt::join(where, ", "));
}

std::string split_label(Category category) {
  return category == Category::forward_backward ? "forward+backward" : std::string(to_string(category));
}

std::string split_section(const analyze::StepTime& step) {
  Table table({"", "mean", "share", ""});
  std::string text = "\nTime of a step, by what it is spent on (mean of all steps and ranks)\n";
  bool is_unsplit = step.split_ns[index(Category::forward_backward)] > 0;
  for (std::size_t i = 0; i < analyze::category_count; ++i) {
    auto category = static_cast<Category>(i);
    bool is_combined = category == Category::forward_backward;
    bool is_part = category == Category::forward || category == Category::backward;
    if (step.split_ns[i] == 0 && (is_combined || (is_part && is_unsplit))) continue;
    double share =
        static_cast<double>(step.split_ns[i]) / static_cast<double>(std::max<std::uint64_t>(1, step.total_ns));
    // A full bar is 20 wide; the padding keeps the right-aligned column together.
    auto length = static_cast<std::size_t>(std::lround(share * 20));
    std::string bar;
    for (std::size_t cell = 0; cell < 20; ++cell) bar += cell < length ? "█" : " ";
    table.add({split_label(category), format_duration(step.split_ns[i] / step.count),
               fmt::format("{:.1f} %", 100 * share), bar});
  }
  text += table.text();
  if (is_unsplit) text += "  (the span group `microbatch` tells forward and backward apart)\n";
  return text;
}

std::string step_section(const Report& report) {
  if (!report.step) {
    return "\nNo step was recorded: the span group `step` records them (`per_step` has it), or name them by "
           "--step-span.\n";
  }
  const analyze::StepTime& step = *report.step;
  std::string text =
      fmt::format("\nStep time ({}, {} on all ranks)\n", printable(step.span_name), format_count(step.count));
  text += fmt::format("  median {}   p95 {}   worst {}{}\n", format_duration(step.median_ns),
                      format_duration(step.p95_ns), format_duration(step.worst_ns), worst_text(step));
  return text + split_section(step);
}

std::string names_section(const Report& report, std::size_t width) {
  Table table({"span", "count", "total", "self", "median", "p95", "slowest rank (mean)"});
  for (const analyze::NameRow& row : report.names) {
    std::string slowest;
    if (row.slowest_rank) slowest = fmt::format("{} ({})", *row.slowest_rank, format_duration(row.slowest_mean_ns));
    table.add({row.name, format_count(row.count), format_duration(row.total_ns), format_duration(row.self_ns),
               format_duration(row.median_ns), format_duration(row.p95_ns), slowest});
  }
  return "\nSpans, by self time (all ranks together)\n" + table.text(width);
}

std::string problems_section(const Report& report) {
  if (report.problems.empty()) return {};
  std::string text = "\nNot everything could be read\n";
  for (const trace::Problem& problem : report.problems) {
    text += fmt::format("  {}: {}", printable(problem.file.filename().string()), printable(problem.reason));
    text += problem.offset_bytes > 0 ? fmt::format(" (at byte {})\n", problem.offset_bytes) : "\n";
  }
  return text;
}

}  // namespace

std::string report_text(const Report& report, std::size_t width) {
  std::string text = run_section(report);
  if (report.run.span_count > 0) text += step_section(report) + names_section(report, width);
  return text + problems_section(report);
}

}  // namespace lens::cli
