// SPDX-License-Identifier: Apache-2.0
#include "src/export/retry.h"

#include <gtest/gtest.h>

#include <set>

namespace lens::exporting {
namespace {

using namespace std::chrono_literals;

const Backoff::Clock::time_point start{1h};

TEST(Backoff, HoldsNothingBeforeAFailureAndAfterASuccess) {
  Backoff backoff({}, 1);
  EXPECT_FALSE(backoff.holds(start));
  backoff.fail(start, {});
  EXPECT_TRUE(backoff.holds(start));
  backoff.succeed();
  EXPECT_FALSE(backoff.holds(start));
}

TEST(Backoff, GrowsFromFailureToFailureUpToItsLongest) {
  Backoff backoff({.first = 1s, .factor = 2, .longest = 4s}, 1);
  auto now = start;
  for (const auto middle : {1s, 2s, 4s, 4s, 4s}) {
    backoff.fail(now, {});
    EXPECT_GE(backoff.due() - now, middle / 2);
    EXPECT_LE(backoff.due() - now, middle * 3 / 2);
    now = backoff.due();
  }
  backoff.succeed();
  backoff.fail(now, {});
  EXPECT_LE(backoff.due() - now, 1500ms);
}

TEST(Backoff, FailuresOfOneMomentCountOnce) {
  Backoff backoff({.first = 1s, .factor = 10, .longest = 1h}, 1);
  backoff.fail(start, {});
  const auto due = backoff.due();
  for (int i = 0; i < 3; ++i) backoff.fail(start, {});
  EXPECT_EQ(backoff.due(), due);
  backoff.fail(due, {});
  EXPECT_LE(backoff.due() - due, 15s);
}

TEST(Backoff, WaitsAsLongAsTheDestinationDemands) {
  Backoff backoff({}, 1);
  backoff.fail(start, 30s);
  EXPECT_EQ(backoff.due(), start + 30s);
  backoff.fail(start, 1s);
  EXPECT_EQ(backoff.due(), start + 30s);
}

// Contract: C5
TEST(Backoff, ADemandStandsThoughSomethingWasTakenMeanwhile) {
  Backoff backoff({}, 1);
  backoff.fail(start, 30s);
  backoff.succeed();
  EXPECT_FALSE(backoff.is_failing());
  EXPECT_TRUE(backoff.holds(start + 29s));
  EXPECT_FALSE(backoff.holds(start + 30s));
}

TEST(Backoff, ADemandHasABound) {
  Backoff backoff({}, 1);
  backoff.fail(start, std::chrono::hours(24 * 365));
  EXPECT_EQ(backoff.due(), start + 1h);
}

TEST(Backoff, HurryEndsTheHoldButNotWhatTheDestinationDemands) {
  Backoff backoff({}, 1);
  backoff.fail(start, {});
  backoff.hurry();
  EXPECT_FALSE(backoff.holds(start));
  EXPECT_TRUE(backoff.is_failing());
  backoff.fail(start, 30s);
  backoff.hurry();
  EXPECT_TRUE(backoff.holds(start + 29s));
}

// Contract: C6
TEST(Backoff, RanksJitterApart) {
  std::set<Backoff::Clock::time_point> dues;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff({}, seed);
    backoff.fail(start, {});
    dues.insert(backoff.due());
  }
  EXPECT_GT(dues.size(), 80u);
}

// Contract: C6
TEST(Backoff, CanBeZero) {
  Backoff backoff({.first = 0s, .factor = 2, .longest = 0s}, 1);
  backoff.fail(start, {});
  EXPECT_FALSE(backoff.holds(start));
}

}  // namespace
}  // namespace lens::exporting
