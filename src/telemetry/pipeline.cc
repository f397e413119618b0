// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "src/base/thread.h"
#include "src/base/unshared.h"
#include "src/model/group_registry.h"
#include "src/record/clock.h"
#include "src/record/names.h"
#include "src/record/propagation.h"
#include "src/record/trace_states.h"
#include "src/telemetry/loss_report.h"

namespace lens::telemetry {
namespace {

using std::chrono::steady_clock;

// A ring of 1 MiB takes 9 ms of a thread that records a million spans a second.
constexpr std::chrono::milliseconds busy_interval{1}, idle_interval{4};
// This part of a ring, found in one cycle, calls for the next one sooner: 70,000 spans a second.
constexpr std::uint64_t much = 32;
// A thread that recorded much is soon at it again, also where one cycle found nothing of it.
constexpr int busy_cycles = 64;
// What the rings leave of this is for what is open: a fifth for the lists in the file of rings, which a kill needs, the
// rest for what the pipeline knows of it. With 3 MiB for the file's other parts and 2.5 for all else, 16 in all.
constexpr std::uint64_t rings_and_open_bytes = (10 << 20) + (512 << 10);
constexpr std::uint64_t log_bytes = 7 << 18;  // batches of log records, and what sends them
constexpr std::uint64_t part_for_lists = 5;
// Of the time that shutdown has, what is left for keeping on disk what could not be sent.
constexpr std::chrono::milliseconds longest_reserve{500};
// For keeping it, where the shutdown has no time at all: whoever called does not wait for that.
constexpr std::chrono::milliseconds least_time_to_keep{50};
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
  // What an earlier session told is over.
  record::take_source_without_context();
  file_.publish_export_failure(0, {});
  count();
  if (wake_ >= 0) base::unshare_with_children(wake_);
  BlockSignals inherited_by_the_thread;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    close_wake();
    throw std::runtime_error(std::string("no thread can be started for telemetry: ") + error.what());
  }
  pthread_setname_np(thread_.native_handle(), "lens-pipeline");
}

Pipeline::~Pipeline() {
  if (thread_.joinable()) thread_.join();
  close_wake();
}

void Pipeline::close_wake() noexcept {
  if (wake_ < 0) return;
  base::forget_unshared(wake_);
  close(wake_);
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
  base::ask_for_short_slices();
  while (!stop_requested_.load(std::memory_order_acquire)) {
    const std::uint64_t flush = flush_requested_.load(std::memory_order_acquire);
    try {
      control_.look();
      cycle();
      if (flush != flush_begun_) begin_flush(flush);
      const bool is_due = batches_.count() > 0 && batches_.age() >= options_.schedule_delay;
      if (is_due && exporter_->is_ready()) export_batch();
      if (options_.metrics && options_.metrics->is_due()) send_metrics();
      exporter_->poll();
      if (options_.metrics) options_.metrics->exporter().poll();
      if (options_.logs) options_.logs->poll();
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
  if (options_.logs) options_.logs->flush();
  if (options_.metrics) {
    send_metrics();
    options_.metrics->exporter().flush();
  }
  flush_begun_ = number;
}

bool Pipeline::is_flushed() const {
  return exporter_->is_flushed() && (!options_.metrics || options_.metrics->exporter().is_flushed()) &&
         (!options_.logs || options_.logs->is_flushed());
}

void Pipeline::cycle() {
  cycles_until_idle_ = std::max(cycles_until_idle_ - 1, 0);
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
  if (rings != bounded_rings_) take_up_rings(rings);
  // After the heads: what was received with a trace is known before a span of it has ended.
  if (record::has_trace_states()) encoder_.set_trace_states(record::trace_state_of);
  const assemble::ClockReading now = read_clock();
  assembler_.begin_cycle(now);
  recorder_.publish_clock(now.ticks, now.monotonic_ns, now.unix_ns, assembler_.time().ns_per_tick());
  for (std::uint32_t number = 1; number <= rings; ++number) {
    const record::RingHeader& ring = file_.ring(number);
    if (drained_[number] == 0) drained_[number] = ring.tail.load(std::memory_order_relaxed);
    const detail::Position from = std::exchange(drained_[number], heads[number]);
    const std::uint64_t bytes = heads[number] - from;
    if (bytes == 0) continue;
    if (bytes > ring.data_bytes / much) cycles_until_idle_ = busy_cycles;
    assembler_.take(from, {file_.data(number) + (from & (ring.data_bytes - 1)), bytes}, *this);
  }
  assembler_.end_cycle(*this);
}

// First says what is open, then gives the drained room back: whoever finds the process dead starts from the `tail` of
// the open spans, behind which nothing has been overwritten.
bool Pipeline::give_back(bool incomplete_too) {
  bool all = true;
  for (const detail::Position position : assembler_.take_changed()) changed_.at(record::ring_number(position)) = true;
  for (std::uint32_t number = 1; number < drained_.size() && drained_[number] != 0; ++number) {
    record::RingHeader& ring = file_.ring(number);
    if (drained_[number] == ring.tail.load(std::memory_order_relaxed) && !changed_[number]) continue;
    if (changed_[number] || !file_.advance_open(number, drained_[number])) {
      const assemble::SavedOpen saved = save_open(number);
      if (!saved.complete && !incomplete_too && assembler_.has_waiting()) {
        all = false;
        continue;
      }
      changed_[number] = false;
      file_.publish_open(number, drained_[number], saved.bytes, saved.complete);
    }
    // Release: the reads of these bytes are over before their owner overwrites them.
    ring.tail.store(drained_[number], std::memory_order_release);
  }
  return all;
}

/// The new ones of so many, beside which there is less memory for what is open.
void Pipeline::take_up_rings(std::uint32_t rings) {
  for (std::uint32_t number = bounded_rings_ + 1; number <= rings; ++number)
    assembler_.add_ring(file_.ring(number).tail.load(std::memory_order_relaxed));
  std::uint64_t left = rings_and_open_bytes - (options_.logs ? log_bytes : 0);
  for (std::uint32_t number = 1; number <= rings; ++number)
    left -= file_.ring(number).data_bytes + 2 * record::RingFile::first_open_bytes;
  most_list_bytes_ = left / part_for_lists;
  assembler_.bound_open(left - most_list_bytes_, options_.limits);
  bounded_rings_ = rings;
}

/// Of a ring, into the list whose turn it is.
assemble::SavedOpen Pipeline::save_open(std::uint32_t number) {
  const std::size_t bytes = assembler_.open_list_bytes(drained_[number], record::RingFile::open_room);
  return assembler_.save_open(drained_[number], file_.reserve_open(number, bytes, most_list_bytes_));
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
  if (!batches_.add(encoded_.view())) {
    export_batch();
    if (!batches_.add(encoded_.view())) return export_alone();
  }
  if (batches_.count() == options_.max_batch_spans) export_batch();
}

void Pipeline::on_log(const otlp::LogRecord& record) {
  if (options_.logs) options_.logs->add(record);
}

void Pipeline::export_batch() {
  if (batches_.count() > 0) exporter_->export_batch(batches_.take());
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
  // Each read once: threads go on counting.
  const std::uint64_t in_rings = recorder_.dropped_in_rings(), without_ring = recorder_.dropped_without_ring();
  const std::uint64_t own = in_rings - dropped_in_rings_before_ + without_ring - dropped_without_ring_before_;
  counters.spans_dropped.store(own + assembler_.dropped_count() + counts.refused(), std::memory_order_relaxed);
  counters.ring_drops.store(in_rings + without_ring, std::memory_order_relaxed);
  if (without_ring > dropped_without_ring_before_ && !said_no_ring_) say_no_ring();
  say_full_rings(in_rings);
  const int source = record::take_source_without_context();
  if (source >= 0 && !said_source_without_context_) say_source_without_context(source);
  if (assembler_.dropped_count() > 0 && !said_too_many_open_) say_too_many_open();
  tell_export_failure();
}

/// To readers outside, such as `lens top`: of the first exporter that fails.
void Pipeline::tell_export_failure() {
  const exporting::Exporter* exporters[] = {exporter_.get(), options_.logs ? &options_.logs->exporter() : nullptr,
                                            options_.metrics ? &options_.metrics->exporter() : nullptr};
  const auto fails = [](const exporting::Exporter* exporter) { return exporter && exporter->failing_since(); };
  const auto failing = std::ranges::find_if(exporters, fails);
  std::int64_t since_ns = 0;
  std::string_view text;
  if (failing != std::end(exporters)) {
    const auto since = (*failing)->failing_since()->time_since_epoch();
    since_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
    text = (*failing)->last_failure();
  }
  if (since_ns == told_failing_since_ns_ && text == told_failure_) return;
  told_failure_ = text;
  told_failing_since_ns_ = since_ns;
  file_.publish_export_failure(since_ns, text);
}

SpanCounts Pipeline::span_counts() const {
  SpanCounts counts;
  assembler_.for_each_open([&counts](const assemble::OpenSpan&) { ++counts.live; });
  counts.batched = batches_.count();
  counts.processed = recorded_ - sampled_out_ - batches_.count();
  counts.no_ring = recorder_.dropped_without_ring() - dropped_without_ring_before_;
  counts.ring_full = recorder_.dropped_in_rings() - dropped_in_rings_before_;
  counts.too_many_open = assembler_.dropped_count();
  counts.lost_records = recorder_.lost_records() - lost_records_before_ + assembler_.lost_records();
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
  std::vector<ExporterReading> exporters{{Signal::traces, *exporter_}, {Signal::metrics, reader.exporter()}};
  std::optional<LogCounts> logs;
  if (options_.logs) {
    logs = options_.logs->counts();
    exporters.push_back({Signal::logs, options_.logs->exporter()});
  }
  reader.send(self_metrics(spans, logs, ring_fill(), exporters));
}

void Pipeline::say_no_ring() {
  said_no_ring_ = true;
  on_error_("a thread got no memory to record in and its spans are dropped: at most " +
            std::to_string(record::RingFile::max_rings) + " threads can record at one time, within " +
            "the memory that SHM_DIR has room for");
}

/// The sink limits how often.
void Pipeline::say_full_rings(std::uint64_t drops) {
  if (drops <= said_full_ring_drops_) return;
  said_full_ring_drops_ = drops;
  on_error_("a thread records faster than its ring is drained: its newest spans are dropped, and counted");
}

void Pipeline::say_source_without_context(int source) {
  said_source_without_context_ = true;
  announce_("rank " + std::to_string(source) +
            ", the source of broadcast_trace_context, had no context to give, so that nothing links to it: it does not "
            "export, or was outside of any span; find_exporting_rank finds a source that exports");
}

void Pipeline::say_too_many_open() {
  said_too_many_open_ = true;
  on_error_(
      "more spans are open than there is memory for: those that begin are dropped, and counted, until others end; "
      "end spans sooner, or turn off the group that leaves them open");
}

void Pipeline::finish() {
  cycle();
  cycle();
  assembler_.truncate_open(read_clock().ticks, truncation_reason, *this);
  // Nothing is open any more: a later session's readers would find these spans again.
  for (std::uint32_t number = 1; number <= recorder_.ring_count(); ++number)
    file_.publish_open(number, file_.ring(number).tail.load(std::memory_order_relaxed), 0, true);
  const auto now = steady_clock::now();
  const auto at_least = [now](steady_clock::time_point time) { return std::max(time, now + least_time_to_keep); };
  const auto reserve = std::clamp<steady_clock::duration>((deadline_ - now) / 4, {}, longest_reserve);
  // The sooner, so that spans that wait for their collector do not take all of the time.
  const auto send_logs_until = now + (deadline_ - now) / 4;
  if (options_.logs) options_.logs->drain(send_logs_until, at_least(send_logs_until + reserve / 2));
  const auto send_until = deadline_ - reserve;
  while (!exporter_->is_ready() && steady_clock::now() < send_until) {
    exporter_->poll();
    wait();
  }
  export_batch();
  exporter_->drain(send_until, at_least(deadline_ - reserve / 2));
  count();
  const record::Counters& counters = recorder_.counters();
  auto groups = detail::GroupRegistry::instance().use();
  exporter_->finish({counters.spans_recorded, counters.spans_exported, counters.spans_dropped, counters.spans_truncated,
                     counters.spans_sampled_out, std::move(groups.with_spans), std::move(groups.without_spans)});
  say_losses();
  if (!options_.metrics) return;
  send_metrics();
  options_.metrics->exporter().drain(deadline_ - reserve / 4, deadline_ - reserve / 4);
}

void Pipeline::say_losses() {
  std::vector<std::string> lines{loss_report(span_counts(), *exporter_)};
  if (options_.logs) lines.push_back(loss_report(options_.logs->counts(), options_.logs->exporter()));
  for (const std::string& line : lines)
    if (!line.empty()) announce_(line);
}

void Pipeline::wait() {
  exporter_->wait(wake_, cycles_until_idle_ > 0 ? busy_interval : idle_interval);
  eventfd_t requests = 0;  // several are one wake-up
  eventfd_read(wake_, &requests);
}

void Pipeline::wake() noexcept {
  const int error = errno;  // a signal handler may be the caller
  eventfd_write(wake_, 1);
  errno = error;
}

}  // namespace lens::telemetry
