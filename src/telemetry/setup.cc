// SPDX-License-Identifier: Apache-2.0
// Set-up, shutdown, and the ways a process ends.
#include <pthread.h>
#include <time.h>

#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>

#include "lens/time_limit.h"
#include "src/record/propagation.h"
#include "src/setup/identity.h"
#include "src/setup/plan.h"
#include "src/setup/propagation.h"
#include "src/telemetry/error_sink.h"
#include "src/telemetry/session.h"

namespace lens {
namespace {

// Never destroyed: an exit from a static destructor may still come here.
struct Active {
  std::mutex mutex;
  std::weak_ptr<Session> session;
  std::terminate_handler previous_terminate = nullptr;
  bool exit_registered = false;
};

Active& active() {
  static auto* active = new Active;
  return *active;
}

// For the signal handler, which may take no lock. Cleared before the pipeline stops.
constinit std::atomic<telemetry::Pipeline*> drainable{nullptr};
constinit std::atomic<int> draining{0};

// From here on no signal handler reaches the pipeline.
void end_draining() noexcept {
  drainable.store(nullptr, std::memory_order_release);
  while (draining.load(std::memory_order_acquire) > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void shut_down_active() noexcept {
  std::shared_ptr<Session> session;
  {
    std::lock_guard lock(active().mutex);
    session = active().session.lock();
  }
  if (session) session->shutdown({});
  end_draining();
}

// ---- fork: the child starts with nothing of the parent's, and with a pipeline only when it records

void before_fork() { active().mutex.lock(); }
void after_fork_in_parent() { active().mutex.unlock(); }
void after_fork_in_child() {
  drainable.store(nullptr, std::memory_order_relaxed);
  draining.store(0, std::memory_order_relaxed);
  if (const auto session = active().session.lock()) session->forget_pipeline();
  active().mutex.unlock();
}

void restart_in_child() noexcept {
  std::lock_guard lock(active().mutex);
  const auto session = active().session.lock();
  if (!session) return;
  session->restart_in_child();
  drainable.store(session->pipeline(), std::memory_order_release);
}

void watch_for_forks() {
  static const bool registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  if (registered) record::Recorder::instance().set_restart(restart_in_child);
}

// ---- the ways a process ends

// Nothing is left for others to recover.
void leave_in_order() {
  shut_down_active();
  record::Recorder::instance().remove_file();
}

[[noreturn]] void flush_and_terminate() {
  const std::terminate_handler previous = active().previous_terminate;
  leave_in_order();
  if (previous) previous();
  std::abort();
}

void remove_file_at_exit() {
  if (!active().exit_registered) active().exit_registered = std::atexit(leave_in_order) == 0;
}

void watch_for_the_end() {
  remove_file_at_exit();
  if (std::get_terminate() != flush_and_terminate)
    active().previous_terminate = std::set_terminate(flush_and_terminate);
}

void stop_watching() noexcept {
  if (std::get_terminate() == flush_and_terminate) std::set_terminate(active().previous_terminate);
}

}  // namespace

namespace {

void set_propagation(const Config& config) {
  record::set_process_propagation(setup::propagators_of(config.standard), config.started_in);
}

std::shared_ptr<Session> make_session(const setup::Plan& plan, const Config& config) try {
  return std::make_shared<Session>(plan, config);
} catch (...) {
  if (record::Recorder::instance().file()) remove_file_at_exit();
  throw;
}

}  // namespace

TelemetryHandle setup_telemetry(const Config& config, const Rank& rank, const ResourceAttributes& attributes) {
  const setup::Plan plan = setup::make_plan(config, rank, attributes);
  TelemetryHandle handle;
  if (!config.enabled || config.standard.sdk_disabled) {
    // A mistyped variable may be why it is disabled.
    telemetry::tell_warnings(plan.warnings, config.on_error, plan.rank.rank);
    std::lock_guard lock(active().mutex);
    if (!active().session.lock()) set_propagation(config);  // what comes from others is sent on all the same
    return handle;
  }
  std::lock_guard lock(active().mutex);
  if (auto running = active().session.lock()) {
    if (!config.replace_running)
      throw std::logic_error("telemetry is already set up in this process; shut it down first");
    running->shutdown({});
  }
  set_propagation(config);
  auto session = make_session(plan, config);
  setup::remember_run_id(plan.run_id);
  active().session = session;
  if (session->is_exporting()) {
    drainable.store(session->pipeline(), std::memory_order_release);
    watch_for_the_end();
    watch_for_forks();
  }
  handle.session_ = std::move(session);
  return handle;
}

bool TelemetryHandle::is_exporting() const noexcept { return session_ && session_->is_exporting(); }

bool TelemetryHandle::is_tracing() const noexcept { return session_ && session_->is_tracing(); }

bool TelemetryHandle::force_flush(std::chrono::milliseconds timeout) noexcept {
  return !session_ || session_->flush(timeout);
}

void TelemetryHandle::shutdown(std::chrono::milliseconds timeout) noexcept {
  if (!session_) return;
  session_->shutdown(timeout);
  final_counters_ = session_->counters();
  end_draining();
  stop_watching();
  session_.reset();
}

TelemetryCounters TelemetryHandle::counters() const noexcept {
  return session_ ? session_->counters() : final_counters_;
}

bool graceful_drain(std::chrono::milliseconds timeout) noexcept {
  draining.fetch_add(1, std::memory_order_acq_rel);
  telemetry::Pipeline* pipeline = drainable.load(std::memory_order_acquire);
  bool done = false;
  if (pipeline) {
    const std::uint64_t number = pipeline->request_flush();
    constexpr timespec pause{0, 200'000};
    for (auto waited = std::chrono::nanoseconds(0);
         !(done = pipeline->flushed(number)) && waited < detail::bounded(timeout);
         waited += std::chrono::nanoseconds(pause.tv_nsec)) {
      nanosleep(&pause, nullptr);
    }
  }
  draining.fetch_sub(1, std::memory_order_acq_rel);
  return done;
}

}  // namespace lens
