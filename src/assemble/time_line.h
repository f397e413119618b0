// SPDX-License-Identifier: Apache-2.0
// Ticks of records as time. Between two samples of the clocks time runs straight from one to the other, so that it is
// continuous, never runs backwards and follows the system clock's drift.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace lens::assemble {

struct ClockReading {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t unix_ns = 0;
};

// Times of a damaged file, or far from the epoch because a program said so, may overflow: then they wrap.
constexpr std::int64_t wrapping_sum(std::int64_t left, std::int64_t right) noexcept {
  return std::int64_t(std::uint64_t(left) + std::uint64_t(right));
}
constexpr std::int64_t wrapping_difference(std::int64_t left, std::int64_t right) noexcept {
  return std::int64_t(std::uint64_t(left) - std::uint64_t(right));
}

class TimeLine {
 public:
  /// `ns_per_tick` serves until there are two readings far enough apart to measure it.
  explicit TimeLine(const ClockReading& first, double ns_per_tick = 1.0) noexcept
      : from_(first),
        to_(first),
        base_(first),
        next_base_(first),
        ns_per_tick_(ns_per_tick),
        long_ns_per_tick_(ns_per_tick),
        unix_offset_ns_(wrapping_difference(first.unix_ns, first.monotonic_ns)) {}

  /// Times asked from now on mostly lie between the last reading and this one.
  void advance(const ClockReading& reading) noexcept {
    from_ = to_;
    to_ = reading;
    if (to_.ticks > from_.ticks && to_.monotonic_ns >= from_.monotonic_ns) {
      ns_per_tick_ = double(to_.monotonic_ns - from_.monotonic_ns) / double(to_.ticks - from_.ticks);
    } else {
      from_ = to_;  // the counter began anew, as some do when a machine wakes up: so does the line
    }
    measure();
    // A step of the system clock, beyond what reading two clocks one after the other blurs.
    const std::int64_t offset_ns = reading.unix_ns - reading.monotonic_ns;
    constexpr std::int64_t blur_ns = 500;
    if (offset_ns > unix_offset_ns_ + blur_ns || offset_ns < unix_offset_ns_ - blur_ns) unix_offset_ns_ = offset_ns;
  }

  std::int64_t monotonic_ns(std::uint64_t ticks) const noexcept {
    constexpr double most = 9e18;
    const double passed = double(std::int64_t(ticks - from_.ticks)) * ns_per_tick_;
    return wrapping_sum(from_.monotonic_ns, std::int64_t(std::clamp(passed, -most, most)));
  }
  std::int64_t unix_of(std::int64_t monotonic_ns) const noexcept { return wrapping_sum(monotonic_ns, unix_offset_ns_); }
  std::int64_t unix_ns(std::uint64_t ticks) const noexcept { return unix_of(monotonic_ns(ticks)); }
  /// To reckon on from the last reading, as who finds the process dead does. Over ten seconds and more, as soon as
  /// there are so many: the readings' jitter hides the rate of a few milliseconds behind the fifth digit.
  double ns_per_tick() const noexcept { return long_ns_per_tick_; }

 private:
  void measure() noexcept {
    constexpr std::int64_t least_base_ns = 10'000'000'000;
    if (is_broken()) {
      base_ = next_base_ = to_;
      return;
    }
    if (to_.monotonic_ns - next_base_.monotonic_ns >= least_base_ns) base_ = std::exchange(next_base_, to_);
    if (to_.ticks > base_.ticks)
      long_ns_per_tick_ = double(to_.monotonic_ns - base_.monotonic_ns) / double(to_.ticks - base_.ticks);
  }
  // While a machine sleeps its counter goes on, or begins anew, and its clock stands still.
  bool is_broken() const noexcept {
    if (to_.ticks <= base_.ticks || to_.ticks == from_.ticks) return true;
    if (from_.ticks == base_.ticks) return false;  // nothing is measured yet
    const double passed_ns = double(to_.monotonic_ns - from_.monotonic_ns);
    const double expected_ns = double(to_.ticks - from_.ticks) * long_ns_per_tick_;
    return std::abs(expected_ns - passed_ns) > 1e6 + passed_ns / 1000;
  }

  ClockReading from_, to_;
  ClockReading base_, next_base_;  // of the rate over a longer time
  double ns_per_tick_;             // between the two readings
  double long_ns_per_tick_;
  std::int64_t unix_offset_ns_;
};

}  // namespace lens::assemble
