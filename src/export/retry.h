// SPDX-License-Identifier: Apache-2.0
// When to try again after a destination failed: exponential back-off with jitter. It never sleeps: it says until when
// to hold, and whoever drives the export looks at that.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace lens::exporting {

struct RetryOptions {
  std::chrono::milliseconds first{1'000};
  double factor = 1.5;
  std::chrono::milliseconds longest{5'000};
};

class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  /// Two with one seed jitter alike.
  Backoff(RetryOptions options, std::uint64_t seed) : options_(options), random_(seed), next_(options.first) {}

  /// `demanded` is what the destination asked for (Retry-After): never less than that. Failures of what was sent before
  /// the hold began lengthen nothing.
  void fail(Clock::time_point now, std::optional<std::chrono::milliseconds> demanded);
  /// Time that the destination has demanded stays its own, though it took something that was under way.
  void succeed() noexcept;
  /// What waits may go now, unless the destination has demanded its time.
  void hurry() noexcept;

  bool is_failing() const noexcept { return failing_; }
  bool holds(Clock::time_point now) const noexcept { return now < due(); }
  Clock::time_point due() const noexcept { return failing_ ? due_ : demanded_; }

 private:
  std::chrono::milliseconds jittered(std::chrono::milliseconds delay) noexcept;

  RetryOptions options_;
  std::uint64_t random_;
  std::chrono::milliseconds next_;
  bool failing_ = false;
  Clock::time_point due_{};
  Clock::time_point demanded_{};
};

}  // namespace lens::exporting
