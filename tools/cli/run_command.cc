// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "src/base/text.h"
#include "tools/analyze/report.h"
#include "tools/cli/commands.h"
#include "tools/cli/report_text.h"
#include "tools/cli/text_format.h"
#include "tools/launch/console.h"
#include "tools/launch/environment.h"
#include "tools/launch/supervisor.h"
#include "tools/trace/recovery.h"
#include "tools/trace/run_file.h"

namespace lens::cli {
namespace {

namespace fs = std::filesystem;

constexpr int exit_not_executable = 126, exit_not_found = 127;  // as shells have it

struct RunOptions {
  int world_size = 1;
  std::string span_groups, directory;
  double grace_s = 10;
  std::vector<std::string> command;
};

std::uint64_t now_ns() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Told before the ranks start: a run whose trace cannot be kept is not worth its hours.
void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error && access(directory.c_str(), W_OK) != 0) error = {errno, std::generic_category()};
  if (!error) return;
  throw std::runtime_error(fmt::format("the trace directory {} cannot be written ({}): name another by --out",
                                       directory.string(), error.message()));
}

bool holds_traces(const fs::path& directory) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none))
    if (entry.path().filename().string().starts_with("traces-")) return true;
  return false;
}

// Two runs in one directory would be reported as one. A run that goes on with its own id may.
void refuse_another_run(const fs::path& directory, const std::string& run_id) {
  const auto earlier = trace::read_run_file(directory);
  if (earlier ? earlier->run_id == run_id : !holds_traces(directory)) return;
  throw std::runtime_error(
      fmt::format("the trace directory {} holds {} already: name another by --out, or remove it{}", directory.string(),
                  earlier ? "the run " + earlier->run_id : "traces",
                  earlier ? fmt::format("; NEMO_LENS_RUN_ID={} goes on with that run", earlier->run_id) : ""));
}

void warn_of_unknown_groups(launch::Console& console, const launch::RunPlan& plan) {
  for (const std::string& name : launch::unknown_groups(plan.span_groups)) {
    console.print_message(fmt::format(
        "no group or preset is named '{}' unless the program declares it: `lens groups` lists those that are known",
        name));
  }
}

launch::RunRequest request_of(const RunOptions& options, const CLI::App& command) {
  launch::RunRequest request;
  request.world_size = options.world_size;
  request.command = options.command;
  request.grace = std::chrono::milliseconds(static_cast<std::int64_t>(options.grace_s * 1000));
  if (command.count("--span-groups") > 0) request.span_groups = options.span_groups;
  if (command.count("--out") > 0) request.directory = options.directory;
  return request;
}

// As short as it can be typed from here.
std::string name_of(const fs::path& directory) {
  fs::path relative = directory.lexically_proximate(fs::current_path());
  return (*relative.begin() == ".." ? directory : relative).string();
}

// What ranks had recorded and could not write any more: a rank that is killed has no say in it.
void recover_ranks(launch::Console& console, const launch::RunPlan& plan) {
  if (plan.shm_dir.empty()) return;
  for (trace::RingFile& rings : trace::find_ring_files(plan.shm_dir, plan.run_id)) {
    try {
      const auto recovery = trace::recover(rings);
      if (!recovery) continue;
      for (const std::string& problem : recovery->problems)
        console.print_message(fmt::format("recovering rank {}: {}", recovery->rank, problem));
      if (recovery->log_records > 0)
        console.print_message(fmt::format("recovered {} of rank {}, in {}",
                                          base::counted(recovery->log_records, "log record"), recovery->rank,
                                          name_of(recovery->logs_file)));
      if (recovery->file.empty()) continue;
      console.print_message(fmt::format("recovered {} of rank {} that had ended, and {} left open, in {}",
                                        base::counted(recovery->ended, "span"), recovery->rank, recovery->truncated,
                                        name_of(recovery->file)));
    } catch (const std::exception& error) {
      console.print_message(
          fmt::format("{}: {}; `lens recover {}` tries again", rings.path().string(), error.what(), plan.run_id));
    }
  }
}

void print_report(launch::Console& console, const launch::RunPlan& plan) {
  if (plan.exporter != "file") {
    console.print_message(
        fmt::format("the spans went to the exporter `{}`: there is no trace here to report on", plan.exporter));
    return;
  }
  analyze::Report report = analyze::make_report(trace::open_trace(plan.directory));
  if (report.run.span_count == 0) {
    console.print_message(
        "no rank recorded a span: is the program linked with lens, and does it call lens::setup_telemetry?");
    return;
  }
  fmt::print("\n{}", report_text(report, terminal_width(STDOUT_FILENO)));
  fmt::print("\nThe trace is in {0}; `lens report {0}` prints this again.\n", name_of(plan.directory));
  std::fflush(stdout);
}

int run_ranks(launch::Console& console, const launch::RunPlan& plan, const launch::Environment& environment) {
  trace::RunFile run{.run_id = plan.run_id,
                     .command = plan.request.command,
                     .span_groups = plan.span_groups,
                     .world_size = plan.request.world_size,
                     .start_ns = now_ns()};
  trace::write_run_file(plan.directory, run);
  launch::Outcome outcome = launch::Supervisor(plan, console).run(environment);
  run.end_ns = now_ns();
  run.ranks = outcome.exits;
  if (outcome.first_failure) run.failed_rank = outcome.first_failure->rank;
  try {
    trace::write_run_file(plan.directory, run);
  } catch (const std::exception& error) {  // such as a full disk: the ranks' outcome counts, and their spans
    console.print_message(fmt::format("{}: how the ranks ended is not kept", error.what()));
  }
  recover_ranks(console, plan);
  print_report(console, plan);
  return outcome.exit_code();
}

int explain(const launch::CommandError& error, const std::string& command) {
  bool is_missing = error.code().value() == ENOENT;
  fmt::print(stderr, "lens: cannot run '{}': {}{}\n", command, error.code().message(),
             is_missing && command.find('/') == std::string::npos
                 ? "; a program of this directory is named ./" + command
                 : "");
  return is_missing ? exit_not_found : exit_not_executable;
}

int run_run(const RunOptions& options, const CLI::App& command) {
  launch::Environment environment = launch::own_environment();
  try {
    launch::check_executable(options.command.front(), environment);
    launch::RunPlan plan = launch::make_plan(request_of(options, command), environment);
    launch::Console console(STDOUT_FILENO, STDERR_FILENO);
    warn_of_unknown_groups(console, plan);
    make_directory(plan.directory);
    refuse_another_run(plan.directory, plan.run_id);
    return run_ranks(console, plan, environment);
  } catch (const launch::CommandError& error) {
    return explain(error, options.command.front());
  }
}

}  // namespace

void add_run_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("run", "Run a program as N ranks, traced, and report where the time went");
  auto options = std::make_shared<RunOptions>();
  command->add_option("-n,--ranks", options->world_size, "How many ranks to start")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--span-groups", options->span_groups,
                      "What to record: a comma list of presets and groups (see `lens groups`)");
  command->add_option("--out", options->directory, "The trace directory (default: lens/<run id>)");
  command
      ->add_option("--grace", options->grace_s,
                   "Seconds between asking ranks to end, when one failed, and killing them")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("COMMAND", options->command, "The program and its arguments, after --")->required();
  command->footer(
      "Each rank finds what torchrun sets (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, ...) and telemetry\n"
      "turned on; variables that are already set keep their value.");
  command->callback([command, options, &exit_code] { exit_code = run_run(*options, *command); });
}

}  // namespace lens::cli
