// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/analyze/places.h"
#include "tools/cli/commands.h"
#include "tools/cli/run_choice.h"
#include "tools/cli/text_format.h"
#include "tools/trace/json_text.h"
#include "tools/trace/span_rates.h"

namespace lens::cli {
namespace {

struct TopOptions {
  std::string run, shm_dir = default_shm_dir();
  double interval_s = 1;
  bool once = false, json = false;
};

/// The processes of one run, read again and again.
struct Snapshot {
  std::string run_id;
  int world_size = 0;
  std::vector<trace::ProcessState> ranks;  // one process for each
  std::vector<trace::ProcessState> dead;   // others of theirs
  std::vector<std::string> unreadable;     // files, and why
};

// Unless a run is named: the one that began last, before all one of which a process lives.
std::string choose_run(std::vector<trace::RingFile>& files) {
  std::string chosen;
  std::pair<bool, std::int64_t> best{false, -1};
  for (trace::RingFile& file : files) {
    const trace::RingFileFacts facts = file.read_facts();
    const std::pair<bool, std::int64_t> rating{file.is_alive(), facts.start_unix_ns};
    if (rating <= best) continue;
    best = rating;
    chosen = facts.run_id;
  }
  return chosen;
}

Snapshot take_snapshot(const TopOptions& options) {
  Snapshot snapshot;
  snapshot.run_id = run_id_of(options.run, options.shm_dir);
  auto files = trace::find_ring_files(options.shm_dir, snapshot.run_id, &snapshot.unreadable);
  if (snapshot.run_id.empty()) snapshot.run_id = choose_run(files);
  std::vector<trace::ProcessState> processes;
  for (trace::RingFile& file : files) {
    try {
      const trace::RingFileFacts facts = file.read_facts();
      if (facts.run_id != snapshot.run_id || facts.state == record::FileState::closed) continue;
      processes.push_back(trace::read_process_state(file));
      snapshot.world_size = std::max(snapshot.world_size, facts.world_size);
    } catch (const std::exception& error) {
      snapshot.unreadable.push_back(error.what());
    }
  }
  analyze::Ranks ranks = analyze::choose_processes(std::move(processes));
  snapshot.ranks = std::move(ranks.standing);
  snapshot.dead = std::move(ranks.dead);
  return snapshot;
}

std::string duration_text(double seconds) { return format_duration(static_cast<std::uint64_t>(seconds * 1e9)); }

std::string iterations_text(const analyze::Place& place) {
  if (!place.first_iteration) return "-";
  if (*place.first_iteration == *place.last_iteration) return fmt::format("{}", *place.first_iteration);
  return fmt::format("{}-{}", *place.first_iteration, *place.last_iteration);
}

std::string place_text(const analyze::Place& place) {
  if (place.stack.empty()) return "outside of any span";
  return fmt::format("{}", fmt::join(place.stack, " < "));
}

std::string_view mark_text(analyze::Mark mark) {
  switch (mark) {
    case analyze::Mark::none: return "";
    case analyze::Mark::dead: return "dead";
    case analyze::Mark::apart: return "apart";
    case analyze::Mark::behind: return "behind";
    case analyze::Mark::here_first: return "here first";
  }
  return "";
}

/// A line for each thing that stands still in ranks, and why, with the ranks that it is of.
std::string failures_text(const std::vector<trace::ProcessState>& ranks) {
  struct Failure {
    std::vector<int> ranks;
    double longest_s = 0;
  };
  std::map<std::pair<std::string_view, std::string>, Failure> failures;  // by what is not done, and why
  const auto add = [&failures](int rank, std::string_view what, const std::string& why, double for_s) {
    Failure& failure = failures[{what, why}];
    failure.ranks.push_back(rank);
    failure.longest_s = std::max(failure.longest_s, for_s);
  };
  for (const trace::ProcessState& rank : ranks) {
    if (rank.export_failure) add(rank.rank, "exported", rank.export_failure->text, rank.export_failure->for_s);
    if (rank.stalled_for_s)
      add(rank.rank, "taken out of the rings",
          "the process is stopped or ending, or its exporter hangs (a full pipe, a file system)", *rank.stalled_for_s);
  }
  std::string text;
  for (const auto& [failed, failure] : failures)
    text += fmt::format("rank {}: nothing has been {} for {}: {}\n", analyze::folded(failure.ranks), failed.first,
                        duration_text(failure.longest_s), printable(failed.second));
  return text;
}

/// Those of the world that have no process here, where they are few: a job of many machines has most of its ranks
/// elsewhere.
std::string missing_text(const Snapshot& snapshot) {
  std::set<int> here;
  for (const auto& rank : snapshot.ranks) here.insert(rank.rank);
  if (snapshot.world_size > 2 * static_cast<int>(here.size())) return {};
  std::vector<int> missing;
  for (int rank = 0; rank < snapshot.world_size; ++rank)
    if (!here.contains(rank)) missing.push_back(rank);
  if (missing.empty()) return {};
  return fmt::format(
      "rank {}: no process of it records here: it has ended, has not set telemetry up, or is elsewhere\n",
      analyze::folded(missing));
}

std::string snapshot_text(const Snapshot& snapshot, std::size_t width) {
  std::uint64_t dropped = 0;
  double spans_per_s = 0;
  for (const auto& rank : snapshot.ranks) {
    dropped += rank.spans_dropped;
    spans_per_s += rank.spans_per_s;
  }
  std::string text = fmt::format("Run {}: {} of {} ranks on this machine, {} spans/s, {} dropped\n\n",
                                 printable(snapshot.run_id), snapshot.ranks.size(), snapshot.world_size,
                                 format_count(static_cast<std::uint64_t>(spans_per_s)), format_count(dropped));
  Table table({"inside (innermost first)", "ranks", "for", "iteration", ""});
  for (const analyze::Place& place : analyze::find_places(snapshot.ranks)) {
    const std::string since =
        place.longest_s > 2 * place.shortest_s
            ? fmt::format("{} to {}", duration_text(place.shortest_s), duration_text(place.longest_s))
            : duration_text(place.longest_s);
    table.add({place_text(place), analyze::folded(place.ranks), since, iterations_text(place),
               std::string(mark_text(place.mark))});
  }
  text += table.text(width) + failures_text(snapshot.ranks);
  for (const auto& rank : snapshot.ranks)
    for (const std::string& problem : rank.problems)
      text += fmt::format("rank {}: {}\n", rank.rank, printable(problem));
  text += missing_text(snapshot);
  for (const auto& process : snapshot.dead)
    text += fmt::format("rank {}: its process {} has died; `lens recover` takes out what it had recorded\n",
                        process.rank, process.pid);
  for (const std::string& file : snapshot.unreadable) text += printable(file) + '\n';
  return text;
}

nlohmann::json to_json(const trace::ProcessState& rank) {
  auto stack = nlohmann::json::array();
  for (const trace::OpenFrame& frame : rank.stack) stack.push_back({{"name", frame.name}, {"open_s", frame.open_s}});
  nlohmann::json export_failure;
  if (rank.export_failure)
    export_failure = {{"for_s", rank.export_failure->for_s}, {"reason", rank.export_failure->text}};
  return {{"rank", rank.rank},
          {"pid", rank.pid},
          {"alive", rank.is_alive},
          {"iteration", rank.iteration ? nlohmann::json(*rank.iteration) : nlohmann::json()},
          {"stack", stack},
          {"spans_recorded", rank.spans_recorded},
          {"spans_per_s", rank.spans_per_s},
          {"spans_dropped", rank.spans_dropped},
          {"export_failure", export_failure},
          {"stalled_for_s", rank.stalled_for_s ? nlohmann::json(*rank.stalled_for_s) : nlohmann::json()},
          {"problems", rank.problems}};
}

nlohmann::json to_json(const Snapshot& snapshot) {
  auto ranks = nlohmann::json::array(), places = nlohmann::json::array(), dead = nlohmann::json::array();
  for (const auto& process : snapshot.dead) dead.push_back({{"rank", process.rank}, {"pid", process.pid}});
  for (const auto& rank : snapshot.ranks) ranks.push_back(to_json(rank));
  for (const analyze::Place& place : analyze::find_places(snapshot.ranks)) {
    places.push_back({{"stack", place.stack},
                      {"ranks", place.ranks},
                      {"ranks_folded", analyze::folded(place.ranks)},
                      {"alive", place.is_alive},
                      {"stands_apart", place.mark != analyze::Mark::none},
                      {"mark", mark_text(place.mark)},
                      {"open_s", {{"shortest", place.shortest_s}, {"longest", place.longest_s}}}});
  }
  return {{"run_id", snapshot.run_id}, {"world_size", snapshot.world_size}, {"ranks", ranks}, {"places", places},
          {"died_besides", dead},      {"unreadable", snapshot.unreadable}};
}

int explain_nothing(const TopOptions& options, const Snapshot& snapshot) {
  for (const std::string& file : snapshot.unreadable) fmt::print(stderr, "lens: {}\n", printable(file));
  fmt::print(stderr, "lens: {}\n", printable(nothing_found("no process", snapshot.run_id, options.shm_dir)));
  return exit_failed;
}

int print_once(TopOptions options) {
  trace::SpanRates rates;
  Snapshot snapshot = take_snapshot(options);
  rates.fill(snapshot.ranks, std::chrono::steady_clock::now());
  if (snapshot.ranks.empty()) return explain_nothing(options, snapshot);
  constexpr std::chrono::milliseconds between_readings{250};
  std::this_thread::sleep_for(between_readings);
  options.run = snapshot.run_id;
  snapshot = take_snapshot(options);
  if (snapshot.ranks.empty()) return explain_nothing(options, snapshot);  // it has ended meanwhile
  rates.fill(snapshot.ranks, std::chrono::steady_clock::now());
  if (options.json)
    fmt::print("{}", trace::json_text(to_json(snapshot)));
  else
    fmt::print("{}", snapshot_text(snapshot, terminal_width(STDOUT_FILENO)));
  return exit_success;
}

int refresh(TopOptions options) {
  trace::SpanRates rates;
  bool seen = false;
  while (true) {
    Snapshot snapshot = take_snapshot(options);
    if (snapshot.ranks.empty() && !seen) return explain_nothing(options, snapshot);
    if (snapshot.ranks.empty()) break;
    seen = true;
    options.run = snapshot.run_id;  // the one that was chosen first, until it ends
    rates.fill(snapshot.ranks, std::chrono::steady_clock::now());
    constexpr std::string_view clear_screen = "\x1b[H\x1b[2J";
    fmt::print("{}{}\n^C ends this.\n", clear_screen, snapshot_text(snapshot, terminal_width(STDOUT_FILENO)));
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
  }
  fmt::print("The run has ended.\n");
  return exit_success;
}

}  // namespace

void add_top_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("top", "Show what every rank on this machine is inside, and since when");
  auto options = std::make_shared<TopOptions>();
  command->add_option("RUN", options->run, "A run id or a trace directory (default: the run that began last)");
  command->add_flag("--once", options->once, "Print once instead of refreshing the screen");
  command->add_flag("--json", options->json, "Print once, as JSON");
  command->add_option("--interval", options->interval_s, "Seconds between refreshes")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  command->add_option("--shm-dir", options->shm_dir, "Where the files of rings are")->capture_default_str();
  command->callback([options, &exit_code] {
    check_shm_dir(options->shm_dir);
    const bool is_terminal = isatty(STDOUT_FILENO) == 1;
    exit_code = options->once || options->json || !is_terminal ? print_once(*options) : refresh(*options);
  });
}

}  // namespace lens::cli
