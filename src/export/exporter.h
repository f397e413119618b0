// SPDX-License-Identifier: Apache-2.0
// Where finished spans go. One interface for all destinations; the pipeline thread calls it, and goes on draining the
// rings while requests are under way: nothing here waits for a destination but `drain`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace lens::exporting {

/// What the pipeline tells the exporter at the end, for those that leave a record of it.
struct FinalCounters {
  std::uint64_t recorded = 0, exported = 0, dropped = 0, truncated = 0;
};

/// What has been decided about spans.
struct ExportCounts {
  std::uint64_t exported = 0;  // accepted by the destination
  std::uint64_t refused = 0;   // lost; the reason has gone to the error sink
};

/// Spans on their way out.
struct Batch {
  std::string_view elements;  // a run of encoded ScopeSpans.spans elements
  std::uint64_t count = 0;    // of these
  /// Where they lie: in memory that outlives the process, so that they are recovered when it is killed while anyone
  /// holds this. Shared by the parts of a batch that was split.
  std::shared_ptr<const void> memory = {};
};

/// Takes one line for people. May be called often: whoever receives it limits the rate.
using ErrorSink = std::function<void(std::string_view)>;

class Exporter {
 public:
  virtual ~Exporter() = default;

  /// Takes spans; their memory is held until they are sent, kept on disk or lost. Throws nothing but std::bad_alloc.
  virtual void export_spans(Batch batch) = 0;
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

  /// Sends until `deadline` what has been taken, then keeps the rest on disk or gives it up. Afterwards nothing is
  /// under way and the counts are final.
  virtual void drain(std::chrono::steady_clock::time_point) {}
  virtual void finish(const FinalCounters&) {}

  /// Since the last call.
  ExportCounts take_counts() noexcept { return std::exchange(counts_, {}); }

 protected:
  ExportCounts counts_;
};

}  // namespace lens::exporting
