// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "src/base/text.h"
#include "tools/analyze/places.h"
#include "tools/cli/commands.h"
#include "tools/cli/run_choice.h"
#include "tools/trace/group_request.h"
#include "tools/trace/ring_file.h"

namespace lens::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct SetOptions {
  std::string spec, run, shm_dir = default_shm_dir();
  std::vector<int> ranks;
};

/// A process that is asked, and what became of it.
struct Asked {
  int rank;
  trace::GroupRequest request;
  bool is_written = false;
  std::optional<trace::GroupAnswer> answer;
  std::string failure;  // why it cannot be asked
};

struct Run {
  std::string id;
  int world_size = 0;
  std::vector<Asked> processes;
};

Run find_run(const SetOptions& options) {
  Run run;
  std::set<std::string> runs;
  std::vector<std::string> unreadable;
  const std::string run_id = run_id_of(options.run, options.shm_dir);
  for (trace::RingFile& file : trace::find_ring_files(options.shm_dir, run_id, &unreadable)) {
    const trace::RingFileFacts facts = file.facts();
    if (facts.state != record::FileState::recording || !file.is_alive()) continue;
    runs.insert(facts.run_id);
    run.world_size = std::max(run.world_size, facts.world_size);
    if (options.ranks.empty() || std::ranges::count(options.ranks, facts.rank) > 0)
      run.processes.push_back({facts.rank, trace::GroupRequest(file.path()), false, {}, {}});
  }
  for (const std::string& file : unreadable) fmt::print(stderr, "lens: {}\n", file);
  if (runs.empty()) throw std::runtime_error(nothing_found("no living process", options.run, options.shm_dir));
  if (runs.size() > 1)
    throw std::invalid_argument(fmt::format("several runs live here, name one: {}", fmt::join(runs, ", ")));
  run.id = *runs.begin();
  for (const int rank : options.ranks)
    if (std::ranges::none_of(run.processes, [rank](const Asked& asked) { return asked.rank == rank; }))
      throw std::runtime_error(fmt::format("no process of rank {} of run {} records on this machine", rank, run.id));
  return run;
}

/// True when every process has answered.
bool ask_once(std::vector<Asked>& processes, const std::string& spec) {
  bool all = true;
  for (Asked& asked : processes) {
    try {
      if (!asked.is_written) asked.is_written = asked.request.write(spec);
      if (!asked.answer) asked.answer = asked.request.read_answer();
    } catch (const std::runtime_error& error) {
      asked.failure = error.what();
    }
    all &= asked.answer || !asked.failure.empty();
  }
  return all;
}

constexpr std::chrono::seconds patience{2};

void ask(std::vector<Asked>& processes, const std::string& spec) {
  constexpr std::chrono::milliseconds pause{2};
  for (const auto deadline = Clock::now() + patience; !ask_once(processes, spec) && Clock::now() < deadline;)
    std::this_thread::sleep_for(pause);
}

std::string result_text(const Asked& asked) {
  if (!asked.failure.empty()) return asked.failure;
  if (!asked.is_written) return "somebody else is setting it";
  if (!asked.answer) return fmt::format("no answer within {} s: it is set when the rank goes on", patience.count());
  if (!asked.answer->is_applied) return "refused: " + asked.answer->text;
  return asked.answer->text.empty() ? "no group is on" : "now on: " + asked.answer->text;
}

/// Ranks with one result are told in one line.
int print(const Run& run) {
  std::map<std::pair<bool, std::string>, std::set<int>> results;
  std::set<int> ranks;
  for (const Asked& asked : run.processes) {
    const bool is_done = asked.answer && asked.answer->is_applied;
    results[{is_done, result_text(asked)}].insert(asked.rank);
    if (is_done) ranks.insert(asked.rank);
  }
  bool all = true;
  for (const auto& [result, of] : results) {
    const auto& [is_done, text] = result;
    all &= is_done;
    fmt::print(is_done ? stdout : stderr, "{}rank{} {}: {}\n", is_done ? "" : "lens: ", of.size() == 1 ? "" : "s",
               analyze::folded({of.begin(), of.end()}), text);
  }
  fmt::print("run {}: {} of {} ranks set\n", run.id, ranks.size(), run.world_size);
  return all ? exit_success : exit_failed;
}

int run_set(const SetOptions& options) {
  check_shm_dir(options.shm_dir);
  const std::string spec(base::trim(options.spec));
  if (spec.empty()) throw std::invalid_argument("which groups? `none` turns all off");
  Run run = find_run(options);
  ask(run.processes, base::lower(spec) == "none" ? std::string() : spec);
  return print(run);
}

}  // namespace

void add_set_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("set", "Set which span groups are on in a run that is under way");
  auto options = std::make_shared<SetOptions>();
  command->add_option("SPEC", options->spec, "Presets and groups, as in SPAN_GROUPS; `none` turns all off")->required();
  command->add_option("RUN", options->run, "A run id or a trace directory (default: the one run that lives here)");
  command->add_option("--rank", options->ranks, "Only these ranks: 0,3 or once for each")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--shm-dir", options->shm_dir, "Where the files of rings are")->capture_default_str();
  command->footer(
      "Of the ranks on this machine that export: others record nothing, whatever is set. What has begun ends "
      "normally.");
  command->callback([options, &exit_code] { exit_code = run_set(*options); });
}

}  // namespace lens::cli
