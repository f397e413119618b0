// SPDX-License-Identifier: Apache-2.0
// Spans with everything that a span can hold, recorded through the library, and beside them what a receiver must find.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lens/telemetry.h"
#include "tests/interop/ways.h"
#include "tests/support/recorded_span.h"

namespace lens::tests {

struct Sample {
  Attributes resource;              // those that were given; a receiver finds more
  std::vector<RecordedSpan> spans;  // times that the library took from its clock are 0
  std::uint64_t began_ns = 0, ended_ns = 0;
  TelemetryCounters counters = {};

  std::set<std::string> trace_ids() const;
  const RecordedSpan& at(const std::string& name) const;
};

/// Sends to `endpoint`, keeps nothing on disk, and has little patience.
Config sending_config(const Way& way, const std::string& endpoint);

/// Records the sample from set-up to shutdown. Finite: without NaN and infinities, which some receivers refuse.
enum class Numbers { all, finite };
Sample record_sample(const Config& config, Numbers numbers = Numbers::all);

}  // namespace lens::tests
