// SPDX-License-Identifier: Apache-2.0
// Sends spans to an OpenTelemetry collector, by what docs/otlp.md promises: bounded in memory, retried, split where a
// request is too large, and kept in the spool where the collector stays away.
#pragma once

#include <list>
#include <optional>
#include <string>

#include "src/export/exporter.h"
#include "src/export/outcome.h"
#include "src/export/retry.h"
#include "src/export/spool.h"
#include "src/export/transport.h"
#include "src/otlp/envelope.h"

namespace lens::exporting {

struct OtlpExporterOptions {
  OtlpConfig otlp = {};
  SpoolOptions spool = {};
  RetryOptions retry = {};
  std::uint64_t jitter_seed = 0;
  std::chrono::milliseconds export_timeout{30'000};  // of a batch that only memory holds, over all attempts; 0: none
  std::size_t most_queued_spans = 0;                 // 0: as many as fit into the memory that batches may take
};

class OtlpExporter : public Exporter {
 public:
  /// `on_error` hears of failures on the way, `announce` what was not delivered in the end. Throws
  /// std::invalid_argument when the endpoint is none.
  OtlpExporter(const OtlpExporterOptions& options, otlp::TraceEnvelope envelope, ErrorSink on_error,
               ErrorSink announce);

  void export_spans(std::string_view spans, std::uint64_t count) override;
  void poll() override;
  bool is_busy() const override { return !transport_.is_idle(); }
  void flush() override;
  bool is_flushed() const override;
  void drain(std::chrono::steady_clock::time_point deadline) override;
  void finish(const FinalCounters& counters) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Batch {
    std::uint64_t id;     // of the transfer
    std::uint64_t taken;  // the how-manieth that was taken: what a flush waits for
    std::string request;
    std::uint64_t spans;
    Clock::time_point since;
    bool under_way = false;
    std::optional<SpooledRequest> spooled = {};
  };

  bool is_full(std::size_t bytes, std::uint64_t count) const;
  void enqueue(std::string request, std::uint64_t spans, std::uint64_t taken);
  void start_waiting();
  void start_spooled();
  std::size_t free_slots() const;
  void settle(Transport::Settled settled);
  void accept(Batch& batch, const Outcome& outcome);
  bool try_again(Batch& batch, const Outcome& outcome);
  bool split(Batch& batch);
  void keep_or_refuse(Batch& batch);
  void refuse(const Batch& batch, std::uint64_t spans);
  void count_dropped();
  bool has_more_to_send();

  OtlpExporterOptions options_;
  otlp::TraceEnvelope envelope_;
  ErrorSink on_error_, announce_;
  Transport transport_;
  Backoff backoff_;
  Spool spool_;
  std::list<Batch> batches_;  // the oldest first
  bool spool_may_hold_ = true;
  std::uint64_t next_id_ = 1;
  std::uint64_t taken_ = 0;
  std::uint64_t flush_through_ = 0;
  std::uint64_t refused_ = 0;
  std::string last_failure_;
};

}  // namespace lens::exporting
