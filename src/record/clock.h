// SPDX-License-Identifier: Apache-2.0
// The clock of the records, and how its ticks become time.
#pragma once

#include <cstdint>

#include "lens/recorder.h"

namespace lens::record {

/// Whether the processor's time stamp counter runs at one rate in every state and on every core, and the kernel
/// itself trusts it. Detected once.
bool has_invariant_counter() noexcept;

/// Ticks and both system clocks, read within one short bracket.
struct ClockSample {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t unix_ns = 0;

  static ClockSample now() noexcept;
};

}  // namespace lens::record
