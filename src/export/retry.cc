// SPDX-License-Identifier: Apache-2.0
#include "src/export/retry.h"

#include <algorithm>

namespace lens::exporting {
namespace {

// A destination that asks for more is out of order.
constexpr std::chrono::milliseconds longest_demand = std::chrono::hours(1);

// SplitMix64: jitter needs no better.
std::uint64_t next_random(std::uint64_t& state) noexcept {
  std::uint64_t value = state += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace

void Backoff::fail(Clock::time_point now, std::optional<std::chrono::milliseconds> demanded) {
  if (!holds(now)) {
    due_ = now + jittered(next_);
    const std::chrono::duration<double, std::milli> longer = next_ * options_.factor;
    next_ = std::min(options_.longest, std::chrono::duration_cast<std::chrono::milliseconds>(longer));
  }
  failing_ = true;
  if (!demanded) return;
  demanded_ = std::max(demanded_, now + std::min(*demanded, longest_demand));
  due_ = std::max(due_, demanded_);
}

void Backoff::succeed() noexcept {
  failing_ = false;
  next_ = options_.first;
}

void Backoff::hurry() noexcept { due_ = std::min(due_, demanded_); }

// From half to one and a half times, so that the ranks of a job do not come back as one.
std::chrono::milliseconds Backoff::jittered(std::chrono::milliseconds delay) noexcept {
  const auto span = static_cast<std::uint64_t>(delay.count());
  return delay / 2 + std::chrono::milliseconds(span == 0 ? 0 : next_random(random_) % (span + 1));
}

}  // namespace lens::exporting
