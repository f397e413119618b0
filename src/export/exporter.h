// SPDX-License-Identifier: Apache-2.0
// Where finished spans and metrics go, each signal to an exporter of its own. One interface for all destinations; the
// pipeline thread calls it, and goes on draining the rings while requests are under way: nothing here waits for a
// destination but `drain`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lens/group.h"
#include "src/model/metric.h"

namespace lens::exporting {

/// What the pipeline tells the exporter at the end, for those that leave a record of it.
struct FinalReport {
  std::uint64_t recorded = 0, exported = 0, dropped = 0, truncated = 0, sampled_out = 0;
  GroupSet groups_with_spans = {}, groups_without_spans = {};  // of those that were on
};

/// What has been decided, since the exporter was made, about the spans or data points that it took, and about those of
/// other processes that it took out of the spool.
struct ExportCounts {
  std::uint64_t exported = 0;                                // accepted by the destination
  std::map<std::string, std::uint64_t> lost = {};            // by cause (docs/metrics.md), which has been said
  std::map<std::string, std::uint64_t> lost_of_others = {};  // of these, what other processes had put into the spool
  std::uint64_t retries = 0;                                 // requests that had been tried or kept before
  /// Seconds that batches took, from the first attempt to the end; by cause of failure, empty where there was none.
  std::map<std::string, model::Histogram> durations = {};

  std::uint64_t refused() const noexcept;
};

/// An exporter as OpenTelemetry's conventions for metrics of a component describe it.
struct ExporterIdentity {
  std::string type;
  std::string server_address = {};  // empty: it has no server
  int server_port = 0;              // 0: none
};

/// Of all processes that share it.
struct SpoolFill {
  std::uint64_t spans;
  std::uint64_t used_bytes;
  std::uint64_t room_bytes;
};

/// Spans or metrics on their way out.
struct Batch {
  std::string_view elements;  // a run of encoded ScopeSpans.spans or ScopeMetrics.metrics elements
  std::uint64_t count = 0;    // spans or data points
  /// Where they lie: in memory that outlives the process, so that they are recovered when it is killed while anyone
  /// holds this. Shared by the parts of a batch that was split.
  std::shared_ptr<const void> memory = {};
};

/// Takes one line for people. May be called often: whoever receives it limits the rate.
using ErrorSink = std::function<void(std::string_view)>;

class Exporter {
 public:
  virtual ~Exporter() = default;

  /// Takes a batch; its memory is held until it is sent, kept on disk or lost. Throws nothing but std::bad_alloc.
  virtual void export_batch(Batch batch) = 0;
  /// False while a batch had better go on growing: another one would have to wait behind those in memory.
  virtual bool is_ready() const { return true; }

  /// Drives what is under way.
  virtual void poll() {}
  /// Waits until `poll` can go on, the descriptor `wake` can be read or `most` is over.
  virtual void wait(int wake, std::chrono::milliseconds most);

  /// What has been taken so far goes at once, as far as that is in this process's power; `is_flushed` tells when it is
  /// sent, kept on disk or lost.
  virtual void flush() {}
  virtual bool is_flushed() const { return true; }

  using TimePoint = std::chrono::steady_clock::time_point;
  /// Sends until `send_until` what has been taken, then keeps the rest on disk until `keep_until`, and gives up what is
  /// left. Afterwards nothing is under way and the counts are final.
  virtual void drain(TimePoint /*send_until*/, TimePoint /*keep_until*/) {}
  virtual void finish(const FinalReport&) {}

  const ExportCounts& counts() const noexcept { return counts_; }
  /// Why something failed last, for people; empty: nothing has.
  const std::string& last_failure() const noexcept { return last_failure_; }
  /// Since when all that was tried has failed; nothing while all is well. `last_failure` says why.
  std::optional<std::chrono::system_clock::time_point> failing_since() const noexcept { return all_failed_since_; }
  virtual ExporterIdentity identity() const = 0;
  /// Spans or data points that it has in memory, waiting or under way.
  virtual std::uint64_t in_flight() const { return 0; }
  /// The file that it writes; empty: it writes none.
  virtual std::string path() const { return {}; }
  /// Nothing where there is no spool.
  virtual std::optional<SpoolFill> spool_fill() const { return std::nullopt; }

 protected:
  void note_success() noexcept { all_failed_since_.reset(); }
  void note_failure(std::string message);
  void count_lost(std::uint64_t count, const std::string& cause);
  void count_duration(std::chrono::steady_clock::duration duration, const std::string& cause);

  ExportCounts counts_;
  std::string last_failure_;

 private:
  std::optional<std::chrono::system_clock::time_point> all_failed_since_;
};

}  // namespace lens::exporting
