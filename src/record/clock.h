// SPDX-License-Identifier: Apache-2.0
// The clock of the records, and how its ticks become time.
#pragma once

#include <cstdint>
#include <string_view>

#include "lens/recorder.h"

namespace lens::record {

/// The decision: `power_edx` is EDX of CPUID leaf 0x80000007 (0 where there is none), `clocksource` what the kernel
/// keeps its time by. A kernel that has found the counter unfit has another clock source, whatever the processor says.
constexpr bool is_invariant_counter(std::uint32_t power_edx, std::string_view clocksource) noexcept {
  constexpr std::uint32_t invariant_bit = 1u << 8;
  return (power_edx & invariant_bit) != 0 && clocksource == "tsc";
}

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
