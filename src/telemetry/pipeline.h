// SPDX-License-Identifier: Apache-2.0
// The one background thread of a recording process: takes records out of the rings, makes spans of them and hands
// batches to the exporter.
//
// Threads:   the constructor starts the thread, `stop` ends it. `flush` and `request_flush` from any thread,
//            `request_flush` and `flushed` from a signal handler too.
// Errors:    whatever fails is counted and goes to the error sink.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "src/assemble/assembler.h"
#include "src/export/exporter.h"
#include "src/export/metric_reader.h"
#include "src/record/recorder.h"
#include "src/telemetry/batches.h"
#include "src/telemetry/group_control.h"
#include "src/telemetry/log_processor.h"
#include "src/telemetry/self_metrics.h"

namespace lens::telemetry {

class Pipeline : private assemble::SpanSink {
 public:
  struct Options {
    std::chrono::milliseconds schedule_delay{5000};  // a span waits so long at most before it is exported
    std::size_t max_batch_spans = 0;                 // 0: as many as make a request of a good size
    otlp::Limits limits;
    SpanContext started_in;       // the parent of spans that have no other
    model::TraceSampler sampler;  // spans whose `sampled` flag it does not set end here
    std::vector<std::string> redacted_keys;
    std::unique_ptr<exporting::MetricReader> metrics = {};                          // null: there are none
    std::unique_ptr<LogProcessor> logs = {};                                        // null: there are none
    std::reference_wrapper<const Vocabulary> vocabulary = SpanGroup::vocabulary();  // of specs from outside
  };

  /// `on_error` hears of failures on the way, `announce` what was lost in the end.
  Pipeline(Options options, std::unique_ptr<exporting::Exporter> exporter, exporting::ErrorSink on_error,
           exporting::ErrorSink announce);
  /// The thread must have stopped.
  ~Pipeline();

  /// Asks for a flush and returns its number; `flushed(number)` tells when it is done. Async-signal-safe.
  std::uint64_t request_flush() noexcept;
  bool flushed(std::uint64_t number) const noexcept { return flush_done_.load(std::memory_order_acquire) >= number; }

  /// Takes what is left in the rings, ends open spans, exports and finishes. False when `deadline` passed first: the
  /// thread is then still at it, and this object must stay.
  bool stop(std::chrono::steady_clock::time_point deadline) noexcept;
  /// Whether all of that has been done since.
  bool has_stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

 private:
  using Heads = std::array<detail::Position, record::RingFile::max_rings + 1>;  // by ring; 0: not made

  void on_span(const otlp::SpanRecord& span) override;
  void on_log(const otlp::LogRecord& record) override;
  void run() noexcept;
  void cycle();
  void drain();
  /// False when the open spans of a ring found no room, and its room was not given back.
  bool give_back(bool incomplete_too);
  assemble::SavedOpen save_open(std::uint32_t number);
  void take_up_rings(std::uint32_t rings);
  void export_batch();
  void export_alone();
  void begin_flush(std::uint64_t number);
  bool is_flushed() const;
  void finish();
  void wait();
  void close_wake() noexcept;
  void wake() noexcept;
  void count();
  void tell_export_failure();
  SpanCounts span_counts() const;
  RingFill ring_fill() const noexcept;
  void send_metrics();
  void say_no_ring();
  void say_full_rings(std::uint64_t drops);
  void say_source_without_context(int source);
  void say_too_many_open();
  void say_losses();

  Options options_;
  std::unique_ptr<exporting::Exporter> exporter_;
  exporting::ErrorSink on_error_;
  exporting::ErrorSink announce_;  // at the end
  record::Recorder& recorder_ = record::Recorder::instance();
  record::RingFile& file_ = *recorder_.file();
  GroupControl control_{file_.header().control, options_.vocabulary};
  assemble::Assembler assembler_;
  otlp::SpanEncoder encoder_;

  Batches batches_{{file_.batches(), file_.header().batch_room, file_.header().batch_bytes}};
  Heads drained_{};                                       // up to where each ring has been read
  std::array<bool, std::tuple_size_v<Heads>> changed_{};  // rings whose open spans are to be told anew
  base::Buffer encoded_;                                  // one span
  std::uint32_t bounded_rings_ = 0;                       // how many there were when the next was reckoned
  std::uint64_t most_list_bytes_ = 0;                     // of the lists of open spans, beyond what they begin with

  std::uint64_t recorded_ = 0;
  std::uint64_t sampled_out_ = 0;
  std::uint64_t truncated_ = 0;
  // Rings outlive a session, and so do their counts.
  std::uint64_t dropped_in_rings_before_ = recorder_.dropped_in_rings();
  std::uint64_t dropped_without_ring_before_ = recorder_.dropped_without_ring();
  std::uint64_t lost_records_before_ = recorder_.lost_records();
  std::int64_t told_failing_since_ns_ = 0;  // to readers outside
  std::string told_failure_;
  bool said_no_ring_ = false;
  bool said_source_without_context_ = false;
  bool said_too_many_open_ = false;
  std::uint64_t said_full_ring_drops_ = recorder_.dropped_in_rings();
  int cycles_until_idle_ = 0;  // above 0 one of the last cycles found much: the next comes sooner

  int wake_;  // an eventfd
  std::atomic<std::uint64_t> flush_requested_{0};
  std::atomic<std::uint64_t> flush_done_{0};
  std::uint64_t flush_begun_ = 0;
  std::chrono::steady_clock::time_point deadline_{};  // set before stop_requested_
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace lens::telemetry
