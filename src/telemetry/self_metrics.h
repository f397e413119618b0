// SPDX-License-Identifier: Apache-2.0
// What the library tells about itself, as docs/metrics.md lists it: where its spans are, what was lost and why.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/export/exporter.h"
#include "src/model/metric.h"
#include "src/model/signal.h"
#include "src/telemetry/log_processor.h"

namespace lens::telemetry {

/// The spans of a session on their way to the exporter. Every span that began is in one of these counts.
struct SpanCounts {
  std::uint64_t live = 0;           // open
  std::uint64_t batched = 0;        // ended, and in a batch that still grows
  std::uint64_t processed = 0;      // handed to the exporter
  std::uint64_t ring_full = 0;      // lost: no room in the ring of their thread
  std::uint64_t no_ring = 0;        // lost: no ring for their thread
  std::uint64_t too_many_open = 0;  // lost: no memory for one more that is open
  std::uint64_t lost_records = 0;   // attributes, events, links, status and ends that found no room: no spans

  std::uint64_t started() const noexcept { return live + batched + processed + ring_full + no_ring + too_many_open; }
};

struct RingFill {
  std::uint64_t used_bytes = 0;  // recorded and not taken out yet
  std::uint64_t room_bytes = 0;  // of all rings that were made
};

/// An exporter, and of what.
struct ExporterReading {
  Signal signal;
  const exporting::Exporter& exporter;
};

/// `logs` where log records are recorded.
std::vector<model::Metric> self_metrics(const SpanCounts& spans, const std::optional<LogCounts>& logs,
                                        const RingFill& rings, const std::vector<ExporterReading>& exporters);

}  // namespace lens::telemetry
