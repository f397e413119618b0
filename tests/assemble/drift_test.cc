// SPDX-License-Identifier: Apache-2.0
// Time over hours, with a counter that drifts and clocks that are read with jitter.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

#include "src/assemble/time_line.h"

namespace lens::assemble {
namespace {

constexpr double nominal_ticks_per_ns = 2.6;
constexpr std::int64_t unix_offset_ns = 1'795'983'008'000'000'000;

/// A counter whose rate wanders by up to so much, and what the clocks say beside it.
class Machine {
 public:
  explicit Machine(double most_ppm = 100) : most_ppm_(most_ppm) {}

  /// Time goes on by `ns` at the present rate.
  void advance(std::int64_t ns) {
    const double ppm = most_ppm_ * std::sin(double(now_ns_) * 1e-9 / 300);
    ticks_ += double(ns) * nominal_ticks_per_ns * (1 + ppm * 1e-6);
    now_ns_ += ns;
  }
  /// The machine sleeps: the counter goes on, CLOCK_MONOTONIC does not.
  void suspend(std::int64_t ns) {
    ticks_ += double(ns) * nominal_ticks_per_ns;
    system_step_ns += ns;
  }
  void restart_counter() { ticks_ = 1000; }

  std::uint64_t ticks() const { return static_cast<std::uint64_t>(ticks_); }
  std::int64_t monotonic_ns() const { return now_ns_; }
  std::int64_t unix_ns() const { return now_ns_ + unix_offset_ns + system_step_ns; }
  ClockReading read() {
    const std::int64_t jitter_ns = jitter_(generator_);
    return {ticks(), now_ns_ + jitter_ns, unix_ns() + jitter_ns};
  }

  std::int64_t system_step_ns = 0;

 private:
  double most_ppm_;
  double ticks_ = 1e12;
  std::int64_t now_ns_ = 5'000'000'000;
  std::mt19937 generator_{1};
  std::uniform_int_distribution<std::int64_t> jitter_{-30, 30};
};

TEST(Drift, OfAnHourStaysWithinAMicrosecond) {
  Machine machine;
  TimeLine time(machine.read(), 1 / nominal_ticks_per_ns);
  constexpr std::int64_t cycle_ns = 4'000'000, hour_ns = 3'600'000'000'000;
  std::int64_t worst_ns = 0, backwards = 0, last_ns = 0;
  for (std::int64_t passed = 0; passed < hour_ns; passed += cycle_ns) {
    std::array<std::pair<std::uint64_t, std::int64_t>, 4> records;  // written in the course of one cycle
    for (auto& record : records) {
      machine.advance(cycle_ns / 4);
      record = {machine.ticks(), machine.unix_ns()};
    }
    time.advance(machine.read());
    for (const auto& [ticks, truth_ns] : records) {
      const std::int64_t told_ns = time.unix_ns(ticks);
      worst_ns = std::max(worst_ns, std::abs(told_ns - truth_ns));
      backwards += told_ns < last_ns;
      last_ns = told_ns;
    }
  }
  EXPECT_LT(worst_ns, 1000);
  EXPECT_EQ(backwards, 0);
}

TEST(Drift, StepsOfTheSystemClockMoveTimeAndNoDuration) {
  for (const std::int64_t step_ns : {3'600'000'000'000, -3'600'000'000'000}) {
    Machine machine;
    TimeLine time(machine.read(), 1 / nominal_ticks_per_ns);
    machine.advance(4'000'000);
    time.advance(machine.read());
    const std::int64_t began_ns = time.monotonic_ns(machine.ticks());
    machine.system_step_ns += step_ns;
    machine.advance(4'000'000);
    time.advance(machine.read());
    EXPECT_NEAR(double(time.monotonic_ns(machine.ticks()) - began_ns), 4e6, 1000);
    EXPECT_NEAR(double(time.unix_ns(machine.ticks()) - machine.unix_ns()), 0, 1000);
  }
}

void run(Machine& machine, TimeLine& time, std::int64_t ns) {
  constexpr std::int64_t cycle_ns = 1'000'000;
  for (std::int64_t passed = 0; passed < ns; passed += cycle_ns) {
    machine.advance(cycle_ns);
    time.advance(machine.read());
  }
}

/// How wrong who reckons on from the last reading is after so long, in which nobody reads the clocks.
double error_after_ns(Machine machine, const TimeLine& time, std::int64_t ns) {
  const TimeLine reader(machine.read(), time.ns_per_tick());
  machine.advance(ns);
  return double(reader.unix_ns(machine.ticks()) - machine.unix_ns());
}

constexpr std::int64_t second_ns = 1'000'000'000;

// Contract: 3.rate
TEST(Drift, WhatIsReckonedOnFromTheLastReadingStaysWithinAMicrosecondForHalfAMinute) {
  Machine machine(0);
  TimeLine time(machine.read(), 1 / nominal_ticks_per_ns);
  run(machine, time, 10 * second_ns);
  for (int second = 0; second < 40; ++second) {
    run(machine, time, second_ns);
    EXPECT_NEAR(error_after_ns(machine, time, 25 * second_ns), 0, 1000);
  }
}

// Contract: 3.rate
TEST(Drift, TheRateFollowsTheCounterAndIsNotThatOfAMachineAsleep) {
  Machine machine(1);
  TimeLine time(machine.read(), 1 / nominal_ticks_per_ns);
  run(machine, time, 5 * second_ns);
  EXPECT_NEAR(error_after_ns(machine, time, second_ns), 0, 1000);
  for (int times = 0; times < 3; ++times) {
    machine.suspend(600 * second_ns);
    run(machine, time, second_ns / 1000);
    EXPECT_NEAR(error_after_ns(machine, time, second_ns), 0, 1e6) << "to the jitter of two readings in a row";
    run(machine, time, 15 * second_ns);
    EXPECT_NEAR(error_after_ns(machine, time, second_ns), 0, 1000);
  }
  machine.restart_counter();
  run(machine, time, 15 * second_ns);
  EXPECT_NEAR(error_after_ns(machine, time, second_ns), 0, 1000);
}

// The counter went on, the monotonic clock stood still: for one cycle the line is nearly flat, never backwards.
TEST(Drift, ASuspendedMachineMakesNoNegativeDuration) {
  Machine machine;
  TimeLine time(machine.read(), 1 / nominal_ticks_per_ns);
  std::int64_t last_ns = time.monotonic_ns(machine.ticks());
  for (int cycle = 0; cycle < 100; ++cycle) {
    machine.advance(2'000'000);
    const std::uint64_t before = machine.ticks();
    if (cycle % 10 == 5) machine.suspend(600'000'000'000);
    machine.advance(2'000'000);
    const std::uint64_t after = machine.ticks();
    time.advance(machine.read());
    EXPECT_GE(time.monotonic_ns(before), last_ns - 100);
    EXPECT_GE(time.monotonic_ns(after), time.monotonic_ns(before));
    last_ns = time.monotonic_ns(after);
    EXPECT_NEAR(double(last_ns - machine.monotonic_ns()), 0, 1000);
    EXPECT_NEAR(double(time.unix_ns(after) - machine.unix_ns()), 0, 1000);
  }
}

TEST(Drift, ACounterThatBeginsAnewGoesOnWithTheClock) {
  Machine machine;
  TimeLine time(machine.read(), 1 / nominal_ticks_per_ns);
  machine.advance(4'000'000);
  time.advance(machine.read());
  const std::int64_t before_ns = time.monotonic_ns(machine.ticks());
  machine.restart_counter();
  for (int cycle = 0; cycle < 2; ++cycle) {
    machine.advance(4'000'000);
    time.advance(machine.read());
    EXPECT_GE(time.monotonic_ns(machine.ticks()), before_ns);
    EXPECT_NEAR(double(time.unix_ns(machine.ticks()) - machine.unix_ns()), 0, 1000);
  }
}

}  // namespace
}  // namespace lens::assemble
