// SPDX-License-Identifier: Apache-2.0
// Sends spans, metrics or log records to an OpenTelemetry collector, by what docs/otlp.md promises: bounded in memory,
// retried, split where a request is too large, and kept in the spool where the collector stays away.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "src/export/exporter.h"
#include "src/export/failure_news.h"
#include "src/export/outcome.h"
#include "src/export/retry.h"
#include "src/export/spool.h"
#include "src/export/transport.h"
#include "src/otlp/envelope.h"

namespace lens::exporting {

struct OtlpExporterOptions {
  Signal signal = Signal::traces;
  OtlpConfig otlp = {};
  std::shared_ptr<Spool> spool = {};       // of the process; null: nothing is kept
  std::shared_ptr<FailureNews> news = {};  // of the process; null: its own
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
  void drain(TimePoint send_until, TimePoint keep_until) override;
  void finish(const FinalReport& report) override;
  ExporterIdentity identity() const override;
  std::uint64_t in_flight() const override;
  std::optional<SpoolFill> spool_fill() const override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Request {
    std::uint64_t id = 0;     // of the transfer
    std::uint64_t taken = 0;  // the how-manieth batch that was taken: what a flush waits for
    Batch batch = {};         // as it was taken
    TwoPieces message = {};
    Clock::time_point since = {};
    Clock::time_point sent = {};  // last
    bool under_way = false;
    bool tried = false;
    std::optional<SpooledRequest> spooled = {};  // where it comes from the spool, in place of `batch`

    std::uint64_t spans() const noexcept { return spooled ? spooled->items() : batch.count; }
  };
  using Requests = std::list<Request>;

  bool is_full(std::size_t bytes, std::uint64_t count) const;
  Request request_of(Batch batch, std::uint64_t taken);
  void start_waiting();
  bool may_take_spooled() const;
  void start_spooled();
  std::size_t free_slots() const;
  void settle(Transport::Settled settled);
  bool is_news(const Outcome& outcome, const std::string& cause);
  void say_lost(const Outcome& outcome, const std::string& cause, std::uint64_t spans);
  void accept(Request& request, const Outcome& outcome);
  bool try_again(Request& request, const Outcome& outcome);
  bool split(Request& request);
  bool split_spooled(Request& request);
  void keep_or_refuse(Request& request, const std::string& cause);
  void give_up();
  std::string why_unfinished(Clock::time_point since) const;
  void keep_rest(TimePoint until);
  static Request joined(Requests::const_iterator begin, Requests::const_iterator end);
  void refuse(const Request& request, std::uint64_t spans, const std::string& cause);
  void count_dropped();
  bool has_more_to_send(TimePoint until);

  OtlpExporterOptions options_;
  otlp::Envelope envelope_;
  ErrorSink on_error_, announce_;
  Transport transport_;
  Backoff backoff_;
  std::shared_ptr<Spool> spool_;
  Requests requests_;  // the oldest first
  bool spool_may_hold_ = true;
  std::uint64_t next_id_ = 1;
  std::uint64_t taken_ = 0;
  std::uint64_t flush_through_ = 0;
  std::string last_cause_;
  Clock::time_point last_answer_ = {};  // of the server, whatever it was
  std::shared_ptr<FailureNews> news_;
};

}  // namespace lens::exporting
