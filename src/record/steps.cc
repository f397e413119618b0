// SPDX-License-Identifier: Apache-2.0
#include "src/record/steps.h"

#include <atomic>

namespace lens::record {
namespace {

// Relaxed: numbers that stand alone.
constinit std::atomic<std::int64_t> interval{1};
constinit std::atomic<std::int64_t> unnumbered_steps{0};

}  // namespace

void sample_steps(int every) noexcept {
  interval.store(every, std::memory_order_relaxed);
  unnumbered_steps.store(0, std::memory_order_relaxed);
}

bool keeps_step(std::optional<std::int64_t> iteration) noexcept {
  const std::int64_t number = iteration ? *iteration : unnumbered_steps.fetch_add(1, std::memory_order_relaxed) + 1;
  return number % interval.load(std::memory_order_relaxed) == 0;
}

}  // namespace lens::record
