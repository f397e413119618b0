// SPDX-License-Identifier: Apache-2.0
#include "src/record/clock.h"

#include <gtest/gtest.h>

namespace lens::record {
namespace {

constexpr std::uint32_t invariant = 1u << 8;

// Contract: 3.time
TEST(InvariantCounter, IsTheOneOfAProcessorThatSaysSoAndThatTheKernelTrusts) {
  EXPECT_TRUE(is_invariant_counter(invariant, "tsc"));
  EXPECT_TRUE(is_invariant_counter(0xffffffff, "tsc"));
  EXPECT_FALSE(is_invariant_counter(0, "tsc"));
  EXPECT_FALSE(is_invariant_counter(~invariant, "tsc"));
  EXPECT_FALSE(is_invariant_counter(invariant, "hpet"));
  EXPECT_FALSE(is_invariant_counter(invariant, "kvm-clock"));
  EXPECT_FALSE(is_invariant_counter(invariant, "tsc-early")) << "not measured yet";
  EXPECT_FALSE(is_invariant_counter(invariant, ""));
}

// Contract: 3.time
TEST(Clock, WithoutTheCounterTicksAreMonotonicNanoseconds) {
  detail::ThreadState thread{};
  thread.system_clock = true;
  const auto monotonic_ns = [] {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::uint64_t(now.tv_sec) * 1'000'000'000 + std::uint64_t(now.tv_nsec);
  };
  const std::uint64_t before = monotonic_ns(), ticks = detail::now_ticks(thread), after = monotonic_ns();
  EXPECT_GE(ticks, before);
  EXPECT_LE(ticks, after);
}

}  // namespace
}  // namespace lens::record
