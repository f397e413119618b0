// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/report.h"

#include "tools/analyze/report_builder.h"

namespace lens::analyze {

Report make_report(const trace::Trace& trace, const std::string& step_span) {
  ReportBuilder builder(step_span);
  trace::ReadResult read = trace::read_spans(trace, builder);
  Report report = builder.finish();

  report.run.file_count = read.file_count;
  report.run.size_bytes = read.size_bytes;
  if (trace.run) {
    report.run.command = trace.run->command;
    report.run.span_groups = trace.run->span_groups;
    report.run.exits = trace.run->ranks;
    report.run.failed_rank = trace.run->failed_rank;
    if (report.run.run_id.empty()) report.run.run_id = trace.run->run_id;
    if (report.run.world_size == 0) report.run.world_size = trace.run->world_size;
  }
  for (const trace::Status& status : trace.statuses) {
    ++report.losses.processes_counted;
    report.losses.spans_recorded += status.spans_recorded;
    report.losses.spans_dropped += status.spans_dropped;
  }
  const trace::LogsReadResult logs = trace::count_log_records(trace);
  report.run.log_record_count = logs.record_count;
  report.problems = trace.problems;
  report.problems.insert(report.problems.end(), read.problems.begin(), read.problems.end());
  report.problems.insert(report.problems.end(), logs.problems.begin(), logs.problems.end());
  return report;
}

}  // namespace lens::analyze
