// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

namespace lens::launch {
namespace {

using namespace std::chrono_literals;

constexpr int passed_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

bool is_ending(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

trace::RankExit exit_of(int rank, int status) {
  if (WIFSIGNALED(status)) return {rank, 0, WTERMSIG(status)};
  return {rank, WEXITSTATUS(status), 0};
}

bool is_failure(const trace::RankExit& exit) { return exit.exit_code != 0 || exit.signal != 0; }

}  // namespace

int Outcome::exit_code() const {
  if (!first_failure) return 0;
  return first_failure->signal != 0 ? 128 + first_failure->signal : first_failure->exit_code;
}

Supervisor::Supervisor(const RunPlan& plan, Console& console)
    : plan_(plan), console_(console), counters_(plan.shm_dir, plan.run_id) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGCHLD);
  for (int signal : passed_signals) sigaddset(&signals_, signal);
  sigprocmask(SIG_BLOCK, &signals_, &previous_signals_);
  signal(SIGPIPE, SIG_IGN);  // who reads the output may leave; the run goes on
  signal_fd_ = FileDescriptor(signalfd(-1, &signals_, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signal_fd_) throw std::system_error(errno, std::generic_category(), "signals");
}

// Reached with ranks alive only by an exception.
Supervisor::~Supervisor() {
  for (Rank& rank : ranks_) {
    if (rank.exit) continue;
    signal_rank(rank.process, SIGKILL);
    waitpid(rank.process.pid, nullptr, 0);
  }
  sigprocmask(SIG_SETMASK, &previous_signals_, nullptr);
}

Outcome Supervisor::run(const Environment& environment) {
  start(environment);
  while (is_any_running()) {
    wait_for_events();
    take_signals();
    for (Rank& rank : ranks_) read_lines(rank);
    reap();
    auto now = Clock::now();
    if (kill_at_ && now >= *kill_at_) {
      console_.print_message("killing the ranks that are still there");
      signal_running(SIGKILL);
      kill_at_.reset();
    }
    show_progress(now);
  }
  Outcome outcome;
  for (Rank& rank : ranks_) {
    read_lines(rank);
    rank.output.finish([&](std::string_view line) { print_line(rank, false, line); });
    rank.errors.finish([&](std::string_view line) { print_line(rank, true, line); });
    if (is_stopping_) signal_rank(rank.process, SIGTERM);  // what it started and left behind
    outcome.exits.push_back(*rank.exit);
  }
  console_.end_progress(progress_text(iteration_, counters_.read()));
  outcome.first_failure = first_failure_;
  return outcome;
}

void Supervisor::start(const Environment& environment) {
  for (int number = 0; number < plan_.request.world_size; ++number) {
    RankProcess process = start_rank(number, plan_.request.command, rank_environment(environment, plan_, number));
    FileDescriptor output = std::move(process.output), errors = std::move(process.errors);
    auto log = plan_.directory / fmt::format("rank{}.log", number);
    ranks_.push_back(
        {std::move(process), LineReader(std::move(output)), LineReader(std::move(errors)), std::ofstream(log), {}});
  }
}

void Supervisor::wait_for_events() {
  std::vector<pollfd> watched{{signal_fd_.get(), POLLIN, 0}};
  for (const Rank& rank : ranks_) {
    for (const LineReader* reader : {&rank.output, &rank.errors}) {
      if (reader->is_open()) watched.push_back({reader->fd(), POLLIN, 0});
    }
  }
  auto until = kill_at_ ? std::min(*kill_at_, progress_at_) : progress_at_;
  auto timeout = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  poll(watched.data(), watched.size(), static_cast<int>(std::max(timeout, 0ms).count()));
}

void Supervisor::read_lines(Rank& rank) {
  rank.output.read_available([&](std::string_view line) { print_line(rank, false, line); });
  rank.errors.read_available([&](std::string_view line) { print_line(rank, true, line); });
}

void Supervisor::print_line(Rank& rank, bool is_error, std::string_view line) {
  console_.print_rank_line(rank.process.rank, is_error, line);
  rank.log << line << std::endl;  // flushed: it is read while the run lasts, and when it ended badly
  if (auto iteration = parse_iteration(line)) iteration_ = iteration;
}

void Supervisor::take_signals() {
  signalfd_siginfo info;
  while (read(signal_fd_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) pass_on(static_cast<int>(info.ssi_signo));
  }
}

void Supervisor::pass_on(int signal) {
  if (signal == SIGINT && is_interrupted_) {
    console_.print_message("interrupted again: killing all ranks");
    signal_running(SIGKILL);
    return;
  }
  if (is_ending(signal)) {
    console_.print_message(fmt::format("passing SIG{} on to all ranks{}", sigabbrev_np(signal),
                                       signal == SIGINT ? "; ^C again kills them" : ""));
    is_stopping_ = true;
  }
  is_interrupted_ = is_interrupted_ || signal == SIGINT;
  signal_running(signal);
}

void Supervisor::reap() {
  for (Rank& rank : ranks_) {
    int status = 0;
    if (rank.exit || waitpid(rank.process.pid, &status, WNOHANG) != rank.process.pid) continue;
    rank.exit = exit_of(rank.process.rank, status);
    if (!is_failure(*rank.exit)) continue;
    read_lines(rank);  // its last words come before the verdict
    if (first_failure_) continue;
    first_failure_ = rank.exit;
    console_.print_message(fmt::format("rank {} {}", rank.exit->rank, describe(*rank.exit)));
    if (!is_stopping_) end_others(rank);
  }
}

void Supervisor::end_others(const Rank& failed) {
  is_stopping_ = true;
  auto running = std::ranges::count_if(ranks_, [](const Rank& rank) { return !rank.exit; });
  if (running == 0) return;
  console_.print_message(fmt::format("ending the other ranks, since rank {} failed", failed.process.rank));
  signal_running(SIGTERM);
  kill_at_ = Clock::now() + plan_.request.grace;
}

void Supervisor::signal_running(int signal) {
  for (const Rank& rank : ranks_) {
    if (!rank.exit) signal_rank(rank.process, signal);
  }
}

bool Supervisor::is_any_running() const {
  return std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.exit; });
}

void Supervisor::show_progress(Clock::time_point now) {
  if (now < progress_at_) return;
  progress_at_ = now + 200ms;
  console_.show_progress(progress_text(iteration_, counters_.read()));
}

}  // namespace lens::launch
