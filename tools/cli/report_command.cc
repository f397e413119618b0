// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "tools/analyze/report.h"
#include "tools/cli/commands.h"
#include "tools/cli/report_json.h"
#include "tools/cli/report_text.h"
#include "tools/cli/text_format.h"
#include "tools/trace/trace.h"

namespace lens::cli {
namespace {

struct ReportOptions {
  std::string path, step_span;
  bool is_json = false;
};

std::filesystem::path newest_or_explain() {
  auto newest = trace::newest_run("lens");
  if (!newest) {
    throw std::invalid_argument("there is no run under lens/: name a directory, or make one by `lens run -- COMMAND`");
  }
  return *newest;
}

// The most likely mistake is to name the directory of all runs instead of one of them.
[[noreturn]] void explain_empty(const analyze::Report& report, const std::filesystem::path& path) {
  std::string message = fmt::format("{} holds no spans", path.string());
  if (auto newest = trace::newest_run(path); newest && report.problems.empty()) {
    message += fmt::format("; did you mean {}?", newest->string());
  }
  for (const trace::Problem& problem : report.problems) {
    message += fmt::format("\n  {}: {}", printable(problem.file.filename().string()), printable(problem.reason));
  }
  throw std::runtime_error(message);
}

int run_report(const ReportOptions& options) {
  std::filesystem::path path = options.path.empty() ? newest_or_explain() : std::filesystem::path(options.path);
  analyze::Report report = analyze::make_report(trace::open_trace(path), options.step_span);
  if (report.run.span_count == 0) explain_empty(report, path);
  fmt::print("{}", options.is_json ? report_json(report) : report_text(report, terminal_width(STDOUT_FILENO)));
  return exit_success;
}

}  // namespace

void add_report_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("report", "Say where the time of a run went");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("DIR", options->path,
                      "A trace directory or a single file of one (default: the newest run under lens/)");
  command->add_flag("--json", options->is_json, "Print the findings as JSON");
  command->add_option(
      "--step-span", options->step_span,
      "The name of the spans that are the training steps (default: megatron.train_step, train_step or *.step)");
  command->footer("Files that cannot be read are named at the end; everything else is in the report.");
  command->callback([options, &exit_code] { exit_code = run_report(*options); });
}

}  // namespace lens::cli
