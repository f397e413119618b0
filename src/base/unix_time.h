// SPDX-License-Identifier: Apache-2.0
// The system clock as OTLP has it.
#pragma once

#include <chrono>
#include <cstdint>

namespace lens::base {

/// Nanoseconds since 1970.
inline std::uint64_t unix_ns_now() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace lens::base
