// SPDX-License-Identifier: Apache-2.0
// Sends spans or metrics to an OpenTelemetry collector, by what docs/otlp.md promises: bounded in memory, retried,
// split where a request is too large, and kept in the spool where the collector stays away.
#pragma once

#include <list>
#include <map>
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
  Signal signal = Signal::traces;
  OtlpConfig otlp = {};
  SpoolOptions spool = {};
  RetryOptions retry = {};
  std::uint64_t jitter_seed = 0;
  std::chrono::milliseconds export_timeout{30'000};  // of a batch that only memory holds, over all attempts; 0: none
  std::size_t most_queued_spans = 0;                 // 0: as many as fit into the memory that batches may take
  std::size_t most_batches = 0;                      // in memory at a time; 0: as many as fit
  bool one_attempt = false;                          // what fails is given up: the next batch says it anew
};

class OtlpExporter : public Exporter {
 public:
  /// `on_error` hears of failures on the way, `announce` what was not delivered in the end. Throws
  /// std::invalid_argument when the endpoint is none.
  OtlpExporter(const OtlpExporterOptions& options, otlp::Envelope envelope, ErrorSink on_error, ErrorSink announce);

  void export_batch(Batch batch) override;
  bool is_ready() const override { return !is_full({}, 0); }
  void poll() override;
  void wait(int wake, std::chrono::milliseconds most) override { transport_.wait(wake, most); }
  void flush() override;
  bool is_flushed() const override;
  void drain(std::chrono::steady_clock::time_point deadline) override;
  void finish(const FinalCounters& counters) override;
  ExporterIdentity identity() const override;
  std::optional<SpoolFill> spool_fill() const override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Request {
    std::uint64_t id = 0;     // of the transfer
    std::uint64_t taken = 0;  // the how-manieth batch that was taken: what a flush waits for
    Batch batch = {};         // as it was taken
    TwoPieces message = {};
    Clock::time_point since = {};
    bool under_way = false;
    bool tried = false;
    std::optional<SpooledRequest> spooled = {};  // where it comes from the spool, in place of `batch`

    std::uint64_t spans() const noexcept { return spooled ? spooled->spans() : batch.count; }
  };

  bool is_full(std::size_t bytes, std::uint64_t count) const;
  Request request_of(Batch batch, std::uint64_t taken);
  void start_waiting();
  void start_spooled();
  std::size_t free_slots() const;
  void settle(Transport::Settled settled);
  bool is_news(const Outcome& outcome, const Response& response);
  void accept(Request& request, const Outcome& outcome);
  bool try_again(Request& request, const Outcome& outcome);
  bool split(Request& request);
  bool split_spooled(Request& request);
  void keep_or_refuse(Request& request, const std::string& cause);
  void refuse(const Request& request, std::uint64_t spans, const std::string& cause);
  bool has_more_to_send();

  OtlpExporterOptions options_;
  otlp::Envelope envelope_;
  ErrorSink on_error_, announce_;
  Transport transport_;
  Backoff backoff_;
  Spool spool_;
  std::list<Request> requests_;  // the oldest first
  bool spool_may_hold_ = true;
  std::uint64_t next_id_ = 1;
  std::uint64_t taken_ = 0;
  std::uint64_t flush_through_ = 0;
  std::string last_cause_;
  std::map<std::string, Clock::time_point> said_;  // when each cause of failure was said last
  Clock::time_point failing_since_{};
};

}  // namespace lens::exporting
