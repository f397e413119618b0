// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "src/record/clock.h"
#include "src/record/names.h"
#include "src/telemetry/loss_report.h"

namespace lens::telemetry {
namespace {

using std::chrono::steady_clock;

// A ring of 1 MiB takes 9 ms of a thread that records a million spans a second.
constexpr std::chrono::milliseconds busy_interval{1}, idle_interval{4};
// This part of a ring, found in one cycle, calls for the next one sooner: 70,000 spans a second.
constexpr std::uint64_t much = 32;
// Of the time that shutdown has, what is left for keeping on disk what could not be sent.
constexpr std::chrono::milliseconds longest_reserve{500};
constexpr std::string_view truncation_reason = "telemetry was shut down while the span was open";

assemble::ClockReading read_clock() noexcept {
  const record::ClockSample sample = record::ClockSample::now();
  return {sample.ticks, sample.monotonic_ns, sample.unix_ns};
}

// The rate until the first cycle measures it, from two readings a moment apart.
assemble::TimeLine first_time_line() noexcept {
  const assemble::ClockReading first = read_clock();
  assemble::TimeLine time(first);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  time.advance(read_clock());
  return time;
}

// The host's signal handlers must run on the host's threads.
class BlockSignals {
 public:
  BlockSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Pipeline::Pipeline(Options options, std::unique_ptr<exporting::Exporter> exporter, exporting::ErrorSink on_error,
                   exporting::ErrorSink announce)
    : options_(std::move(options)),
      exporter_(std::move(exporter)),
      on_error_(std::move(on_error)),
      announce_(std::move(announce)),
      assembler_(recorder_.keys(), first_time_line(), options_.started_in, options_.sampler),
      encoder_(
          record::Names::text, [this](std::uint64_t ticks) { return assembler_.time().unix_ns(ticks); },
          options_.limits, std::move(options_.redacted_keys)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Before anything is recorded: whoever finds the process dead can tell the time of its first span.
  const assemble::ClockReading now = read_clock();
  recorder_.publish_clock(now.ticks, now.monotonic_ns, now.unix_ns, assembler_.time().ns_per_tick());
  BlockSignals inherited_by_the_thread;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "lens-pipeline");
}

Pipeline::~Pipeline() {
  if (thread_.joinable()) thread_.join();
  if (wake_ >= 0) close(wake_);
}

std::uint64_t Pipeline::request_flush() noexcept {
  const std::uint64_t number = flush_requested_.fetch_add(1, std::memory_order_acq_rel) + 1;
  wake();
  return number;
}

bool Pipeline::stop(steady_clock::time_point deadline) noexcept {
  deadline_ = deadline;
  stop_requested_.store(true, std::memory_order_release);
  wake();
  while (!stopped_.load(std::memory_order_acquire)) {
    if (steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  thread_.join();
  return true;
}

void Pipeline::run() noexcept {
  while (!stop_requested_.load(std::memory_order_acquire)) {
    const std::uint64_t flush = flush_requested_.load(std::memory_order_acquire);
    try {
      cycle();
      if (flush != flush_begun_) begin_flush(flush);
      const bool is_due = batched_ > 0 && steady_clock::now() - batch_began_ >= options_.schedule_delay;
      if (is_due && exporter_->is_ready()) export_batch();
      if (options_.metrics && options_.metrics->is_due()) send_metrics();
      exporter_->poll();
      if (options_.metrics) options_.metrics->exporter().poll();
      count();
      if (is_flushed()) flush_done_.store(flush_begun_, std::memory_order_release);
    } catch (const std::bad_alloc&) {
      on_error_("out of memory in the pipeline; spans were lost");
    }
    wait();
  }
  try {
    finish();
  } catch (const std::bad_alloc&) {
    on_error_("out of memory at shutdown; spans were lost");
  }
  flush_done_.store(flush_requested_.load(std::memory_order_acquire), std::memory_order_release);
  stopped_.store(true, std::memory_order_release);
}

// Where there is no room for another batch it begins later: this one loses nothing by it.
void Pipeline::begin_flush(std::uint64_t number) {
  if (!exporter_->is_ready()) return;
  cycle();  // what came from other threads is applied one cycle late
  export_batch();
  exporter_->flush();
  if (options_.metrics) {
    send_metrics();
    options_.metrics->exporter().flush();
  }
  flush_begun_ = number;
}

bool Pipeline::is_flushed() const {
  return exporter_->is_flushed() && (!options_.metrics || options_.metrics->exporter().is_flushed());
}

void Pipeline::cycle() {
  busy_ = false;
  // What other rings' spans are told waits for the next drain. Where more waits than the file has room to list, that
  // comes at once: until then the room stays with the ring, whose records are the only copy.
  constexpr int most_drains = 4;
  for (int drains = 1; drain(), !give_back(drains == most_drains); ++drains) {
  }
}

void Pipeline::drain() {
  const std::uint32_t rings = recorder_.ring_count();
  Heads heads{};
  // Acquire: the records up to a head are complete. Read before the clock, which is then later than all of them.
  for (std::uint32_t number = 1; number <= rings; ++number)
    heads[number] = file_.ring(number).head.position.load(std::memory_order_acquire);
  const assemble::ClockReading now = read_clock();
  assembler_.begin_cycle(now);
  recorder_.publish_clock(now.ticks, now.monotonic_ns, now.unix_ns, assembler_.time().ns_per_tick());
  for (std::uint32_t number = 1; number <= rings; ++number) {
    const record::RingHeader& ring = file_.ring(number);
    if (drained_[number] == 0) drained_[number] = ring.tail.load(std::memory_order_relaxed);
    const detail::Position from = std::exchange(drained_[number], heads[number]);
    const std::uint64_t bytes = heads[number] - from;
    if (bytes == 0) continue;
    busy_ |= bytes > ring.data_bytes / much;
    assembler_.take(from, {file_.data(number) + (from & (ring.data_bytes - 1)), bytes}, *this);
  }
  assembler_.end_cycle(*this);
}

// First says what is open, then gives the drained room back: whoever finds the process dead starts from the `tail` of
// the open spans, behind which nothing has been overwritten.
bool Pipeline::give_back(bool incomplete_too) {
  bool all = true;
  for (const detail::Position position : assembler_.take_touched()) changed_.at(record::ring_number(position)) = true;
  for (std::uint32_t number = 1; number < drained_.size() && drained_[number] != 0; ++number) {
    record::RingHeader& ring = file_.ring(number);
    if (drained_[number] == ring.tail.load(std::memory_order_relaxed) && !changed_[number]) continue;
    open_.clear();
    const bool complete = assembler_.save_open(drained_[number], file_.open_room(number), open_);
    if (!complete && !incomplete_too && assembler_.has_waiting()) {
      all = false;
      continue;
    }
    changed_[number] = false;
    file_.publish_open(number, drained_[number], open_.view(), complete);
    // Release: the reads of these bytes are over before their owner overwrites them.
    ring.tail.store(drained_[number], std::memory_order_release);
  }
  return all;
}

std::string_view Pipeline::batch() const noexcept {
  if (filling_ == record::batch_count) return {};
  const std::uint64_t bytes = file_.header().batch_bytes[filling_].load(std::memory_order_relaxed);
  return {reinterpret_cast<const char*>(file_.batch(filling_)), bytes};
}

std::size_t Pipeline::free_batch() const noexcept {
  std::size_t number = 0;
  // Acquire: whoever had it has read it.
  while (number < record::batch_count && file_.header().batch_bytes[number].load(std::memory_order_acquire) != 0)
    ++number;
  return number;
}

void Pipeline::on_span(const otlp::SpanRecord& span) {
  ++recorded_;
  if ((span.flags & SpanContext::sampled) == 0) {
    ++sampled_out_;
    return;
  }
  if (span.truncated) ++truncated_;
  encoded_.clear();
  encoder_.encode(span, encoded_);
  record::FileHeader& header = file_.header();
  if (batch().size() + encoded_.size() > header.batch_room) export_batch();
  if (filling_ == record::batch_count) filling_ = free_batch();
  if (encoded_.size() > header.batch_room || filling_ == record::batch_count) return export_alone();
  if (batched_ == 0) batch_began_ = steady_clock::now();
  const std::uint64_t bytes = batch().size();
  std::memcpy(file_.batch(filling_) + bytes, encoded_.data(), encoded_.size());
  ++batched_;
  // Release: whoever finds the process dead sees whole spans.
  header.batch_bytes[filling_].store(bytes + encoded_.size(), std::memory_order_release);
  if (batched_ == options_.max_batch_spans) export_batch();
}

void Pipeline::export_batch() {
  if (batched_ == 0) return;
  // Release: its bytes have been read, or are on disk, before it is filled anew and before a reader outside misses it.
  std::atomic<std::uint64_t>& bytes = file_.header().batch_bytes[filling_];
  exporting::Batch full{batch(), std::exchange(batched_, 0), {}};
  full.memory = {&bytes, [](std::atomic<std::uint64_t>* held) { held->store(0, std::memory_order_release); }};
  exporter_->export_batch(std::move(full));
  filling_ = free_batch();
}

/// A span that no batch has room for.
void Pipeline::export_alone() {
  auto memory = std::make_shared<const std::string>(encoded_.view());
  const std::string_view element = *memory;
  exporter_->export_batch({element, 1, std::move(memory)});
}

void Pipeline::count() {
  const exporting::ExportCounts& counts = exporter_->counts();
  record::Counters& counters = recorder_.counters();
  counters.spans_recorded.store(recorded_, std::memory_order_relaxed);
  counters.spans_truncated.store(truncated_, std::memory_order_relaxed);
  counters.spans_sampled_out.store(sampled_out_, std::memory_order_relaxed);
  counters.spans_exported.store(counts.exported, std::memory_order_relaxed);
  const std::uint64_t ring_drops = recorder_.dropped();
  counters.spans_dropped.store(ring_drops - dropped_before_ + counts.refused(), std::memory_order_relaxed);
  counters.ring_drops.store(ring_drops, std::memory_order_relaxed);
  if (recorder_.dropped_without_ring() > dropped_without_ring_before_ && !said_no_ring_) say_no_ring();
}

SpanCounts Pipeline::span_counts() const {
  SpanCounts counts;
  assembler_.for_each_open([&counts](const assemble::OpenSpan&) { ++counts.live; });
  counts.batched = batched_;
  counts.processed = recorded_ - sampled_out_ - batched_;
  counts.no_ring = recorder_.dropped_without_ring() - dropped_without_ring_before_;
  counts.ring_full = recorder_.dropped() - dropped_before_ - counts.no_ring;
  counts.lost_records = recorder_.lost_records() - lost_records_before_;
  return counts;
}

RingFill Pipeline::ring_fill() const noexcept {
  RingFill fill;
  for (std::uint32_t number = 1; number <= recorder_.ring_count(); ++number) {
    const record::RingHeader& ring = file_.ring(number);
    fill.used_bytes += ring.head.position.load(std::memory_order_relaxed) - ring.tail.load(std::memory_order_relaxed);
    fill.room_bytes += ring.data_bytes;
  }
  return fill;
}

void Pipeline::send_metrics() {
  exporting::MetricReader& reader = *options_.metrics;
  const SpanCounts spans = span_counts();
  reader.send(self_metrics(
      spans, ring_fill(),
      {{Signal::traces, spans.processed, *exporter_}, {Signal::metrics, reader.sent_points(), reader.exporter()}}));
}

void Pipeline::say_no_ring() {
  said_no_ring_ = true;
  on_error_("a thread got no memory to record in and its spans are dropped: at most " +
            std::to_string(record::RingFile::max_rings) + " threads can record at one time, within " +
            "the memory that SHM_DIR has room for");
}

void Pipeline::finish() {
  cycle();
  cycle();
  assembler_.truncate_open(read_clock().ticks, truncation_reason, *this);
  // Nothing is open any more: a later session's readers would find these spans again.
  for (std::uint32_t number = 1; number <= recorder_.ring_count(); ++number)
    file_.publish_open(number, file_.ring(number).tail.load(std::memory_order_relaxed), {}, true);
  const auto left = deadline_ - steady_clock::now();
  const auto reserve = std::min<steady_clock::duration>(longest_reserve, left / 4);
  const auto send_until = deadline_ - reserve;
  while (!exporter_->is_ready() && steady_clock::now() < send_until) {
    exporter_->poll();
    wait();
  }
  export_batch();
  exporter_->drain(send_until);
  count();
  const record::Counters& counters = recorder_.counters();
  exporter_->finish({counters.spans_recorded, counters.spans_exported, counters.spans_dropped, counters.spans_truncated,
                     counters.spans_sampled_out});
  say_losses();
  if (!options_.metrics) return;
  send_metrics();
  options_.metrics->exporter().drain(deadline_ - reserve / 2);
}

void Pipeline::say_losses() {
  const std::string losses = loss_report(span_counts(), *exporter_);
  if (!losses.empty()) announce_(losses);
}

void Pipeline::wait() {
  exporter_->wait(wake_, busy_ ? busy_interval : idle_interval);
  eventfd_t requests = 0;  // several are one wake-up
  eventfd_read(wake_, &requests);
}

void Pipeline::wake() noexcept {
  const int error = errno;  // a signal handler may be the caller
  eventfd_write(wake_, 1);
  errno = error;
}

}  // namespace lens::telemetry
