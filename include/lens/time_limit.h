// SPDX-License-Identifier: Apache-2.0
// How long a caller may say that something is to wait, as a clock can add it.
// Nothing to include by hand: what takes a limit of time uses it.
#pragma once

#include <algorithm>
#include <chrono>

namespace lens::detail {

/// A limit for who adds it to a clock's time, which has room for no more: `milliseconds::max()` is as good as none.
constexpr std::chrono::milliseconds bounded(std::chrono::milliseconds limit) noexcept {
  return std::clamp<std::chrono::milliseconds>(limit, -std::chrono::years(100), std::chrono::years(100));
}

}  // namespace lens::detail
