// SPDX-License-Identifier: Apache-2.0
// Runs the ranks of a plan to their end: passes their output and the signals on, and when one fails, ends the others.
//
// Threads: one. Signals are taken from a descriptor, so the caller must be the only thread of the process.
#pragma once

#include <signal.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <optional>
#include <vector>

#include "tools/launch/console.h"
#include "tools/launch/environment.h"
#include "tools/launch/line_reader.h"
#include "tools/launch/progress.h"
#include "tools/launch/rank_process.h"
#include "tools/trace/run_file.h"

namespace lens::launch {

struct Outcome {
  std::vector<trace::RankExit> exits;  // in the order of ranks
  std::optional<trace::RankExit> first_failure;

  /// Of a shell: the failed rank's code, or 128 and its signal; 0 when every rank ended well.
  int exit_code() const;
};

class Supervisor {
 public:
  /// The directory of the plan exists: the ranks' output goes there too, as rank<r>.log.
  Supervisor(const RunPlan& plan, Console& console);
  ~Supervisor();

  /// Starts every rank and waits for all. Throws std::system_error when the command cannot be executed; then no rank is
  /// left.
  Outcome run(const Environment& environment);

 private:
  using Clock = std::chrono::steady_clock;

  struct Rank {
    RankProcess process;
    LineReader output, errors;
    std::ofstream log;
    std::optional<trace::RankExit> exit;
  };

  void start(const Environment& environment);
  void wait_for_events();
  void read_lines(Rank& rank);
  void print_line(Rank& rank, bool is_error, std::string_view line);
  void take_signals();
  void pass_on(int signal);
  void reap();
  void end_others(const Rank& failed);
  void signal_running(int signal);
  bool is_any_running() const;
  void show_progress(Clock::time_point now);

  const RunPlan& plan_;
  Console& console_;
  SharedCounters counters_;
  sigset_t signals_, previous_signals_;
  FileDescriptor signal_fd_;
  std::deque<Rank> ranks_;
  std::optional<Iteration> iteration_;
  std::optional<trace::RankExit> first_failure_;
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point progress_at_;
  bool is_stopping_ = false;     // a signal was passed on: ranks that end now do so because of it
  bool is_interrupted_ = false;  // by ^C: the next one kills
};

}  // namespace lens::launch
