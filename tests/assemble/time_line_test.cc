// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/time_line.h"

#include <gtest/gtest.h>

namespace lens::assemble {
namespace {

TEST(TimeLine, RunsStraightBetweenTwoReadings) {
  TimeLine time({1000, 50'000, 1'000'050'000}, 2.0);
  EXPECT_EQ(time.monotonic_ns(1100), 50'200);
  time.advance({2000, 53'000, 1'000'053'000});
  EXPECT_EQ(time.monotonic_ns(1000), 50'000);
  EXPECT_EQ(time.monotonic_ns(1500), 51'500);
  EXPECT_EQ(time.monotonic_ns(2000), 53'000);
  EXPECT_EQ(time.unix_ns(1500), 1'000'051'500);
}

TEST(TimeLine, TakesTicksFromBeforeItsFirstReading) {
  const TimeLine time({1000, 50'000, 50'000}, 1.0);
  EXPECT_EQ(time.monotonic_ns(900), 49'900);
}

TEST(TimeLine, FollowsAStepOfTheSystemClockButNotItsBlur) {
  TimeLine time({0, 0, 1'000'000});
  time.advance({1000, 1000, 1'001'100});
  EXPECT_EQ(time.unix_ns(1000), 1'001'000);
  time.advance({2000, 2000, 5'002'000});
  EXPECT_EQ(time.unix_ns(2000), 5'002'000);
  EXPECT_EQ(time.monotonic_ns(2000), 2000);
}

TEST(TimeLine, PassesOverAReadingThatGoesBack) {
  TimeLine time({1000, 1000, 1000});
  time.advance({2000, 2000, 2000});
  time.advance({1500, 1500, 1500});
  time.advance({2500, 1999, 2500});
  EXPECT_EQ(time.monotonic_ns(1500), 1500);
}

}  // namespace
}  // namespace lens::assemble
