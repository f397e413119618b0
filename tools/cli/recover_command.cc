// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/text.h"
#include "tools/cli/commands.h"
#include "tools/cli/run_choice.h"
#include "tools/cli/text_format.h"
#include "tools/trace/json_text.h"
#include "tools/trace/recovery.h"
#include "tools/trace/stale_files.h"

namespace lens::cli {
namespace {

struct RecoverOptions {
  std::string run, into, shm_dir = default_shm_dir();
  bool json = false;
};

nlohmann::json to_json(const trace::Recovery& recovery) {
  return {{"rank", recovery.rank},
          {"pid", recovery.pid},
          {"spans_ended", recovery.ended},
          {"spans_truncated", recovery.truncated},
          {"file", recovery.file.string()},
          {"log_records", recovery.log_records},
          {"logs_file", recovery.logs_file.string()},
          {"problems", recovery.problems}};
}

void print(const trace::Recovery& recovery) {
  if (recovery.log_records > 0)
    fmt::print("rank {} (process {}): {}, in {}\n", recovery.rank, recovery.pid,
               base::counted(recovery.log_records, "log record"), printable(recovery.logs_file.string()));
  if (recovery.file.empty()) {
    if (recovery.log_records == 0) fmt::print("rank {} (process {}): nothing was left\n", recovery.rank, recovery.pid);
  } else {
    fmt::print("rank {} (process {}): {} that had ended and {} left open, in {}\n", recovery.rank, recovery.pid,
               base::counted(recovery.ended, "span"), recovery.truncated, printable(recovery.file.string()));
  }
  for (const std::string& problem : recovery.problems)
    fmt::print(stderr, "lens: rank {} (process {}): {}\n", recovery.rank, recovery.pid, printable(problem));
}

/// Somebody who names a run expects it to be there.
[[noreturn]] void explain_missing(const RecoverOptions& options) {
  std::set<std::string> runs;
  for (trace::RingFile& rings : trace::find_ring_files(options.shm_dir, ""))
    runs.insert(printable(rings.read_facts().run_id));
  throw std::runtime_error(
      fmt::format("no process of a run {} keeps its rings in {}; {}", options.run, options.shm_dir,
                  runs.empty() ? "there are no others either" : fmt::format("there are: {}", fmt::join(runs, ", "))));
}

int run_recover(const RecoverOptions& options) {
  check_shm_dir(options.shm_dir);
  auto all = nlohmann::json::array();
  int alive = 0, taken = 0, failed = 0, dead = 0;
  std::vector<std::string> problems;
  const std::string run_id = run_id_of(options.run, options.shm_dir);
  for (const trace::StaleFile& stale : trace::clear_stale_files(options.shm_dir, run_id))
    fmt::print(stderr, "lens: {}: {}\n", printable(stale.path.string()), stale.what);
  auto files = trace::find_ring_files(options.shm_dir, run_id, &problems);
  for (const std::string& problem : problems) fmt::print(stderr, "lens: {}\n", printable(problem));
  const bool is_run_id = !options.run.empty() && !std::filesystem::is_directory(options.run);
  if (files.empty() && is_run_id) explain_missing(options);
  for (trace::RingFile& rings : files) {
    try {
      const auto recovery = trace::recover(rings, options.into);
      ++(recovery ? dead : rings.is_alive() ? alive : taken);
      if (recovery && options.json) all.push_back(to_json(*recovery));
      if (recovery && !options.json) print(*recovery);
    } catch (const std::exception& error) {
      ++dead;
      ++failed;
      const bool is_system = dynamic_cast<const std::system_error*>(&error) != nullptr;
      fmt::print(
          stderr, "lens: {}: {}; what it holds is still there{}\n", printable(rings.path().string()),
          printable(error.what()),
          is_system ? ": free the space or the rights, then try again, or name another directory by --into" : "");
    }
  }
  if (options.json) fmt::print("{}", trace::json_text(all));
  if (!options.json && dead == 0)
    fmt::print("no dead process{} left anything in {}{}{}\n", options.run.empty() ? "" : " of this run",
               options.shm_dir, alive > 0 ? fmt::format(" ({} alive)", alive) : "",
               taken > 0 ? fmt::format(" ({} just taken by another `lens recover`)", taken) : "");
  return failed == 0 ? exit_success : exit_failed;
}

}  // namespace

void add_recover_command(CLI::App& program, int& exit_code) {
  CLI::App* command =
      program.add_subcommand("recover", "Write what killed processes had recorded into their trace directories");
  auto options = std::make_shared<RecoverOptions>();
  command->add_option("RUN", options->run, "A run id or a trace directory (default: every dead process of this user)");
  command->add_option("--into", options->into, "Write there (default: each into the trace directory of its run)");
  command->add_option("--shm-dir", options->shm_dir, "Where the files of rings are")->capture_default_str();
  command->add_flag("--json", options->json, "Print what was found as JSON");
  command->footer("Processes that live are left alone. `lens run` does this by itself for its own ranks.");
  command->callback([options, &exit_code] { exit_code = run_recover(*options); });
}

}  // namespace lens::cli
