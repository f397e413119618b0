// SPDX-License-Identifier: Apache-2.0
// Turns telemetry on, once per process. Include it where the program starts.
//
// Threads:   set-up and shutdown from any thread, one at a time; one pipeline thread runs in between, and only on ranks
//            that export.
// Ownership: the handle owns the session: destroying it shuts down. Spans need nothing to be kept alive.
// Errors:    set-up throws std::invalid_argument for what the caller can mend, naming the valid choices, the same on
//            every rank, before any side effect; std::logic_error when telemetry is already on. Afterwards failures go
//            to Config::on_error and into the counters.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "lens/config.h"
#include "lens/rank.h"
#include "lens/resource.h"
#include "lens/visibility.h"

namespace lens {

/// What became so far of this process's spans, and of those of others that it took out of the spool (docs/otlp.md).
struct TelemetryCounters {
  std::uint64_t spans_recorded = 0;     // ended and taken out of the rings
  std::uint64_t spans_exported = 0;     // accepted by the exporter's destination
  std::uint64_t spans_dropped = 0;      // lost for want of room in a ring, or refused by the destination
  std::uint64_t spans_truncated = 0;    // ended by shutdown
  std::uint64_t spans_sampled_out = 0;  // of those recorded: a sampler did not keep them
};

class [[nodiscard]] TelemetryHandle {
 public:
  TelemetryHandle() = default;
  TelemetryHandle(TelemetryHandle&&) noexcept = default;
  TelemetryHandle& operator=(TelemetryHandle&& other) noexcept {
    if (this != &other) {
      shutdown();
      session_ = std::move(other.session_);
      final_counters_ = other.final_counters_;
    }
    return *this;
  }
  ~TelemetryHandle() { shutdown(); }

  /// Whether the strategy chose this rank to export.
  LENS_API bool is_exporting() const noexcept;

  /// Whether this rank records spans: it exports, traces are on, and no sampler leaves it without any. What a source of
  /// contexts is chosen by.
  LENS_API bool is_tracing() const noexcept;

  /// Sends what has ended by now; open spans stay open. False when `timeout` passed first.
  LENS_API bool force_flush(std::chrono::milliseconds timeout = std::chrono::seconds(5)) noexcept;

  /// Turns every group off, ends open spans innermost first (marked truncated), sends everything and ends the
  /// pipeline thread, all within `timeout` (zero: the configured one). A second call does nothing. Afterwards
  /// set-up is legal again.
  LENS_API void shutdown(std::chrono::milliseconds timeout = {}) noexcept;

  /// After shutdown: as they stood at its end.
  LENS_API TelemetryCounters counters() const noexcept;

 private:
  friend LENS_API TelemetryHandle setup_telemetry(const Config&, const Rank&, const ResourceAttributes&);
  std::shared_ptr<class Session> session_;  // none once shut down
  TelemetryCounters final_counters_;
};

/// Decides from the configuration whether this rank exports and starts if so; a no-op unless enabled.
LENS_API TelemetryHandle setup_telemetry(const Config& config, const Rank& rank,
                                         const ResourceAttributes& attributes = {});

/// Sends what has ended, from a signal handler (async-signal-safe): asks the pipeline thread and waits for it, at most
/// `timeout`. Recording goes on. False when telemetry is off or time ran out.
LENS_API bool graceful_drain(std::chrono::milliseconds timeout = std::chrono::seconds(2)) noexcept;

}  // namespace lens
