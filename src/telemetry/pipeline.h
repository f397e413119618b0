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
    std::unique_ptr<exporting::MetricReader> metrics = {};  // null: there are none
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

 private:
  using Heads = std::array<detail::Position, record::RingFile::max_rings + 1>;  // by ring; 0: not made

  void on_span(const otlp::SpanRecord& span) override;
  void run() noexcept;
  void cycle();
  void drain();
  /// False when the open spans of a ring found no room, and its room was not given back.
  bool give_back(bool incomplete_too);
  std::string_view batch() const noexcept;
  std::size_t free_batch() const noexcept;
  void export_batch();
  void export_alone();
  void begin_flush(std::uint64_t number);
  bool is_flushed() const;
  void finish();
  void wait();
  void wake() noexcept;
  void count();
  SpanCounts span_counts() const;
  RingFill ring_fill() const noexcept;
  void send_metrics();
  void say_no_ring();
  void say_losses();

  Options options_;
  std::unique_ptr<exporting::Exporter> exporter_;
  exporting::ErrorSink on_error_;
  exporting::ErrorSink announce_;  // at the end
  record::Recorder& recorder_ = record::Recorder::instance();
  record::RingFile& file_ = *recorder_.file();
  assemble::Assembler assembler_;
  otlp::SpanEncoder encoder_;

  // Batches lie in the file of rings, so that they outlive the process. A free one's header().batch_bytes is 0.
  std::size_t filling_ = free_batch();  // the one that spans go to
  std::uint64_t batched_ = 0;           // spans in it
  std::chrono::steady_clock::time_point batch_began_{};
  Heads drained_{};                                       // up to where each ring has been read
  std::array<bool, std::tuple_size_v<Heads>> changed_{};  // rings whose open spans are to be told anew
  base::Buffer encoded_;                                  // one span
  base::Buffer open_;                                     // one ring's open spans

  std::uint64_t recorded_ = 0;
  std::uint64_t sampled_out_ = 0;
  std::uint64_t truncated_ = 0;
  // Rings outlive a session, and so do their counts.
  std::uint64_t dropped_before_ = recorder_.dropped();
  std::uint64_t dropped_without_ring_before_ = recorder_.dropped_without_ring();
  std::uint64_t lost_records_before_ = recorder_.lost_records();
  bool said_no_ring_ = false;
  bool busy_ = false;  // the last cycle found much: the next comes sooner

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
