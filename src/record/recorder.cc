// SPDX-License-Identifier: Apache-2.0
#include "src/record/recorder.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lens/log.h"
#include "src/model/group_registry.h"
#include "src/record/clock.h"
#include "src/record/names.h"
#include "src/record/steps.h"
#include "src/record/thread.h"
#include "src/record/trace_states.h"

namespace lens {

namespace detail {
constinit std::atomic<bool> recording{false};
constinit std::atomic<bool> logging{false};
}  // namespace detail

namespace record {
namespace {

model::IdentityKeys random_keys() noexcept {
  model::IdentityKeys keys;
  if (getrandom(&keys, sizeof keys, 0) != sizeof keys) {
    // Without the system's source: the counter, the process and an address, which differ between processes.
    const std::uint64_t seed = ClockSample::now().ticks ^ std::uint64_t(getpid()) << 32 ^ std::uint64_t(&keys);
    keys = {model::mixed(seed), model::mixed(seed + 1), model::mixed(seed + 2)};
  }
  return keys;
}

std::string file_name(const RecorderOptions& options, std::int64_t unix_ns) {
  std::string name = options.run_id;
  for (char& letter : name)
    if (letter == '/') letter = '_';
  return name.substr(0, 128) + "-rank" + std::to_string(options.rank) + "-" + std::to_string(unix_ns / 1'000'000) +
         "-" + std::to_string(getpid()) + ".ring";
}

void describe(FileHeader& header, const RecorderOptions& options, const model::IdentityKeys& keys,
              std::int64_t unix_ns) {
  header.pid = getpid();
  header.rank = options.rank;
  header.world_size = options.world_size;
  header.local_rank = options.local_rank;
  header.clock_kind = has_invariant_counter() ? ClockKind::tsc : ClockKind::monotonic;
  header.start_unix_ns = unix_ns;
  header.identity_keys[0] = keys.span;
  header.identity_keys[1] = keys.trace_high;
  header.identity_keys[2] = keys.trace_low;
  const SpanContext& parent = options.started_in;
  memcpy(header.parent_trace, parent.trace_id.bytes.data(), sizeof header.parent_trace);
  memcpy(&header.parent_span, parent.span_id.bytes.data(), sizeof header.parent_span);
  header.parent_flags = parent.flags;
  const SpanLimits& limits = options.span_limits;
  header.span_limits = {limits.attributes,       limits.events,          limits.links,
                        limits.event_attributes, limits.link_attributes, limits.value_length};
  header.log_limits = {options.log_limits.attributes, options.log_limits.value_length};
  header.sampler = {options.sampler.threshold, options.sampler.follows_parent};
  strncpy(header.run_id, options.run_id.c_str(), sizeof header.run_id - 1);
  strncpy(header.trace_directory, options.trace_directory.c_str(), sizeof header.trace_directory - 1);
  strncpy(header.trace_file, options.trace_file.c_str(), sizeof header.trace_file - 1);
}

}  // namespace

Recorder::Recorder() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

Recorder& Recorder::instance() {
  static auto* recorder = new Recorder;
  return *recorder;
}

bool Recorder::start(const RecorderOptions& options, std::string& problem) {
  std::lock_guard lock(mutex_);
  const ClockSample now = ClockSample::now();
  if (!file_) {
    file_ = RingFile::create({options.shm_dir, file_name(options, now.unix_ns)}, problem);
    if (!file_) return false;
    keys_ = random_keys();
    Names::publish_to(file_.get());
    publish_trace_states_to(file_.get());
  }
  // What is still open of an earlier session, its shutdown has ended.
  for (std::uint32_t number = 1; number <= ring_count(); ++number) {
    detail::RingHead& head = file_->ring(number).head;
    head.session_first.store(head.position.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  if (options.logs) file_->reserve_log_batches();
  sampler_ = options.sampler;
  most_links_ = options.span_limits.links;
  sample_steps(options.sample_every_n_steps);
  describe(file_->header(), options, keys_, now.unix_ns);
  file_->set_envelope(options.resource, options.scope, options.redacted_keys);
  file_->header().state.store(FileState::recording, std::memory_order_release);
  detail::recording.store(options.spans, std::memory_order_release);
  detail::logging.store(options.logs, std::memory_order_release);
  return true;
}

void Recorder::stop() noexcept {
  detail::recording.store(false, std::memory_order_release);
  detail::logging.store(false, std::memory_order_release);
}

void Recorder::close_file() noexcept {
  if (file_) file_->header().state.store(FileState::closed, std::memory_order_release);
}

void Recorder::remove_file() noexcept {
  if (file_ && file_->header().state.load(std::memory_order_relaxed) == FileState::closed) file_->remove_name();
}

std::uint32_t Recorder::acquire_ring() noexcept {
  if (!file_ && restart_) restart_();
  std::lock_guard lock(mutex_);
  if (!file_) return 0;
  const std::uint32_t made = made_.load(std::memory_order_relaxed);
  for (std::uint32_t number = 1; number <= made; ++number) {
    RingState free = RingState::free;
    // Acquire: the former owner's last records are in place before this thread writes behind them.
    if (file_->ring(number).state.compare_exchange_strong(free, RingState::owned, std::memory_order_acquire))
      return number;
  }
  if (made == RingFile::max_rings || !make_ring(made + 1)) return 0;
  const std::uint32_t number = made + 1;
  RingHeader& ring = file_->ring(number);
  const auto first = detail::Position(epoch_ << 8 | number) << detail::position_ring_shift;
  ring.head.position.store(first, std::memory_order_relaxed);
  ring.head.session_first.store(first, std::memory_order_relaxed);
  ring.tail.store(first, std::memory_order_relaxed);
  ring.state.store(RingState::owned, std::memory_order_release);
  made_.store(number, std::memory_order_release);
  return number;
}

// Where there is no room, a thread comes back with each of its spans: not with a system call each time.
bool Recorder::make_ring(std::uint32_t number) noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now < no_room_until_) return false;
  if (file_->make_ring(number)) return true;
  no_room_until_ = now + std::chrono::seconds(1);
  return false;
}

void Recorder::release_ring(std::uint32_t number) noexcept {
  while (take_ended_elsewhere(number)) {
  }
  file_->ring(number).state.store(RingState::free, std::memory_order_release);
}

void Recorder::publish_clock(std::uint64_t ticks, std::int64_t monotonic_ns, std::int64_t unix_ns,
                             double ns_per_tick) noexcept {
  ClockCalibration& clock = file_->header().clock;
  const std::uint64_t sequence = clock.sequence.load(std::memory_order_relaxed);
  clock.sequence.store(sequence + 1, std::memory_order_relaxed);
  // Release fence: the odd number is seen before any of the new values.
  std::atomic_thread_fence(std::memory_order_release);
  clock.ticks = ticks;
  clock.monotonic_ns = monotonic_ns;
  clock.unix_ns = unix_ns;
  clock.ns_per_tick = ns_per_tick;
  clock.sequence.store(sequence + 2, std::memory_order_release);
}

std::uint64_t Recorder::dropped_in_rings() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t number = 1; number <= ring_count(); ++number)
    sum += file_->ring(number).dropped.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t Recorder::lost_records() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t number = 1; number <= ring_count(); ++number)
    sum += file_->ring(number).lost_records.load(std::memory_order_relaxed);
  return sum;
}

void Recorder::note_ended_elsewhere(const EndedEarly& ended) noexcept try {
  std::lock_guard lock(mutex_);
  ended_elsewhere_.push_back(ended);
} catch (const std::bad_alloc&) {
  // The scope stays on its thread's chain; its end is recorded all the same.
}

std::optional<EndedEarly> Recorder::take_ended_elsewhere(std::uint32_t number) noexcept {
  std::lock_guard lock(mutex_);
  for (auto ended = ended_elsewhere_.begin(); ended != ended_elsewhere_.end(); ++ended) {
    if (ring_number(ended->position) != number) continue;
    const EndedEarly taken = *ended;
    ended_elsewhere_.erase(ended);
    return taken;
  }
  return std::nullopt;
}

// A child gets none of our mutexes locked by a thread that it does not have.
void Recorder::before_fork() {
  instance().mutex_.lock();
  Names::lock_for_fork();
  detail::GroupRegistry::instance().lock_for_fork();
  lock_trace_states_for_fork();
}

void Recorder::after_fork_in_parent() {
  unlock_trace_states_after_fork();
  detail::GroupRegistry::instance().unlock_after_fork();
  Names::unlock_after_fork();
  instance().mutex_.unlock();
}

// The rings are the parent's: the child forgets them, so that it neither writes to them nor sends what is in them.
void Recorder::after_fork_in_child() {
  Recorder& self = instance();
  forget_thread();
  Names::forget_file_after_fork();
  forget_trace_states_file_after_fork();
  self.file_.reset();
  self.ended_elsewhere_.clear();
  self.made_.store(0, std::memory_order_relaxed);
  self.dropped_without_ring_.store(0, std::memory_order_relaxed);
  self.dropped_logs_.store(0, std::memory_order_relaxed);
  self.epoch_ = (self.epoch_ + 1) & 0xff;
  self.no_room_until_ = {};
  detail::GroupRegistry::instance().forget_spans();
  after_fork_in_parent();
}

}  // namespace record
}  // namespace lens
