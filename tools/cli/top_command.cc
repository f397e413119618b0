// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/analyze/places.h"
#include "tools/cli/commands.h"
#include "tools/cli/run_choice.h"
#include "tools/cli/text_format.h"

namespace lens::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TopOptions {
  std::string run, shm_dir = default_shm_dir();
  double interval_s = 1;
  bool once = false, json = false;
};

/// The processes of one run, read again and again.
struct Snapshot {
  std::string run_id;
  int world_size = 0;
  std::vector<trace::ProcessState> ranks;
};

/// Spans per second need two readings.
class Rates {
 public:
  void fill(std::vector<trace::ProcessState>& ranks) {
    const auto now = Clock::now();
    for (trace::ProcessState& rank : ranks) {
      auto [last, is_new] = last_.try_emplace(rank.file, now, rank.spans_recorded);
      if (is_new) continue;
      const double elapsed_s = std::chrono::duration<double>(now - last->second.first).count();
      if (elapsed_s > 0) rank.spans_per_s = double(rank.spans_recorded - last->second.second) / elapsed_s;
      last->second = {now, rank.spans_recorded};
    }
  }

 private:
  std::map<std::string, std::pair<Clock::time_point, std::uint64_t>> last_;
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
  auto files = trace::find_ring_files(options.shm_dir, snapshot.run_id);
  if (snapshot.run_id.empty()) snapshot.run_id = choose_run(files);
  for (trace::RingFile& file : files) {
    const trace::RingFileFacts facts = file.read_facts();
    if (facts.run_id != snapshot.run_id || facts.state == record::FileState::closed) continue;
    snapshot.world_size = std::max(snapshot.world_size, facts.world_size);
    snapshot.ranks.push_back(trace::read_process_state(file));
  }
  std::sort(snapshot.ranks.begin(), snapshot.ranks.end(),
            [](const auto& left, const auto& right) { return left.rank < right.rank; });
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

std::string snapshot_text(const Snapshot& snapshot, std::size_t width) {
  std::uint64_t dropped = 0;
  double spans_per_s = 0;
  for (const auto& rank : snapshot.ranks) {
    dropped += rank.spans_dropped;
    spans_per_s += rank.spans_per_s;
  }
  std::string text = fmt::format("Run {}: {} of {} ranks on this machine, {} spans/s, {} dropped\n\n", snapshot.run_id,
                                 snapshot.ranks.size(), snapshot.world_size,
                                 format_count(static_cast<std::uint64_t>(spans_per_s)), format_count(dropped));
  Table table({"inside (innermost first)", "ranks", "for", "iteration", ""});
  for (const analyze::Place& place : analyze::find_places(snapshot.ranks)) {
    const std::string since =
        place.longest_s > 2 * place.shortest_s
            ? fmt::format("{} to {}", duration_text(place.shortest_s), duration_text(place.longest_s))
            : duration_text(place.longest_s);
    table.add({place_text(place), analyze::folded(place.ranks), since, iterations_text(place),
               !place.is_alive      ? "dead"
               : place.stands_apart ? "apart"
                                    : ""});
  }
  text += table.text(width);
  for (const auto& rank : snapshot.ranks)
    for (const std::string& problem : rank.problems) text += fmt::format("rank {}: {}\n", rank.rank, problem);
  return text;
}

nlohmann::json to_json(const trace::ProcessState& rank) {
  auto stack = nlohmann::json::array();
  for (const trace::OpenFrame& frame : rank.stack) stack.push_back({{"name", frame.name}, {"open_s", frame.open_s}});
  return {{"rank", rank.rank},
          {"pid", rank.pid},
          {"alive", rank.is_alive},
          {"iteration", rank.iteration ? nlohmann::json(*rank.iteration) : nlohmann::json()},
          {"stack", stack},
          {"spans_recorded", rank.spans_recorded},
          {"spans_per_s", rank.spans_per_s},
          {"spans_dropped", rank.spans_dropped},
          {"problems", rank.problems}};
}

nlohmann::json to_json(const Snapshot& snapshot) {
  auto ranks = nlohmann::json::array(), places = nlohmann::json::array();
  for (const auto& rank : snapshot.ranks) ranks.push_back(to_json(rank));
  for (const analyze::Place& place : analyze::find_places(snapshot.ranks)) {
    places.push_back({{"stack", place.stack},
                      {"ranks", place.ranks},
                      {"ranks_folded", analyze::folded(place.ranks)},
                      {"alive", place.is_alive},
                      {"stands_apart", place.stands_apart},
                      {"open_s", {{"shortest", place.shortest_s}, {"longest", place.longest_s}}}});
  }
  return {{"run_id", snapshot.run_id}, {"world_size", snapshot.world_size}, {"ranks", ranks}, {"places", places}};
}

int explain_nothing(const TopOptions& options, const Snapshot& snapshot) {
  fmt::print(
      stderr,
      "lens: no process{} keeps its rings in {}: is telemetry on (NEMO_LENS_ENABLED=1), does this rank export, and "
      "is it the same user and machine?\n",
      snapshot.run_id.empty() ? "" : " of run " + snapshot.run_id, options.shm_dir);
  return exit_failed;
}

int print_once(const TopOptions& options) {
  Rates rates;
  Snapshot snapshot = take_snapshot(options);
  rates.fill(snapshot.ranks);
  if (snapshot.ranks.empty()) return explain_nothing(options, snapshot);
  constexpr std::chrono::milliseconds between_readings{250};
  std::this_thread::sleep_for(between_readings);
  snapshot = take_snapshot(options);
  rates.fill(snapshot.ranks);
  if (options.json)
    fmt::print("{}\n", to_json(snapshot).dump(2));
  else
    fmt::print("{}", snapshot_text(snapshot, terminal_width(STDOUT_FILENO)));
  return exit_success;
}

int refresh(TopOptions options) {
  Rates rates;
  bool seen = false;
  while (true) {
    Snapshot snapshot = take_snapshot(options);
    if (snapshot.ranks.empty() && !seen) return explain_nothing(options, snapshot);
    if (snapshot.ranks.empty()) break;
    seen = true;
    options.run = snapshot.run_id;  // the one that was chosen first, until it ends
    rates.fill(snapshot.ranks);
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
    const bool is_terminal = isatty(STDOUT_FILENO) == 1;
    exit_code = options->once || options->json || !is_terminal ? print_once(*options) : refresh(*options);
  });
}

}  // namespace lens::cli
