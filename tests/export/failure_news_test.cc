// SPDX-License-Identifier: Apache-2.0
#include "src/export/failure_news.h"

#include <gtest/gtest.h>

namespace lens::exporting {
namespace {

using namespace std::chrono_literals;

class FailureNewsTest : public testing::Test {
 protected:
  bool fails(const int& exporter, const std::string& cause, std::chrono::seconds at) {
    return news_.fails(&exporter, cause, FailureNews::Clock::time_point(1h + at));
  }

  bool loses(const int& exporter, const std::string& cause, std::chrono::seconds at) {
    return news_.loses(&exporter, cause, FailureNews::Clock::time_point(1h + at));
  }

  FailureNews news_;
  const int traces_ = 0, metrics_ = 0;
};

TEST_F(FailureNewsTest, AFailureIsNewsOnceHoweverLongItLasts) {
  EXPECT_TRUE(fails(traces_, "503", 0s));
  EXPECT_FALSE(fails(traces_, "503", 1s));
  EXPECT_TRUE(fails(traces_, "429", 2s)) << "another one";
  EXPECT_FALSE(fails(traces_, "503", 3'600s));
}

// Contract: 7.one-warning
TEST_F(FailureNewsTest, WhatIsKnownOfOneExporterIsNoNewsOfAnotherHoweverLate) {
  EXPECT_TRUE(fails(traces_, "401", 0s));
  EXPECT_FALSE(fails(metrics_, "401", 600s));
  news_.succeeds(&traces_);
  EXPECT_FALSE(fails(metrics_, "401", 1'200s)) << "it lasts for this one";
  news_.succeeds(&metrics_);
  EXPECT_TRUE(fails(traces_, "401", 1'800s)) << "it is back";
}

// Contract: 7.one-warning
TEST_F(FailureNewsTest, WhatAnExporterLosesByAKnownCauseIsNewsOnceForEach) {
  EXPECT_TRUE(fails(traces_, "401", 0s));
  EXPECT_FALSE(loses(traces_, "401", 0s)) << "it has been said of this one";
  EXPECT_FALSE(fails(metrics_, "401", 4s));
  EXPECT_TRUE(loses(metrics_, "401", 4s));
  EXPECT_FALSE(fails(metrics_, "401", 600s));
  EXPECT_FALSE(loses(metrics_, "401", 600s)) << "it lasts";
  for (const auto second : {610s, 615s}) {
    news_.succeeds(&metrics_);
    EXPECT_FALSE(fails(metrics_, "401", second)) << "it lasts for the other one";
    EXPECT_EQ(loses(metrics_, "401", second), second == 610s) << "once a minute";
  }
}

TEST_F(FailureNewsTest, WhatComesAndGoesIsNewsOnceAMinute) {
  for (const auto minute : {0s, 60s}) {
    EXPECT_TRUE(fails(traces_, "503", minute));
    for (const auto second : {1s, 30s, 59s}) {
      news_.succeeds(&traces_);
      EXPECT_FALSE(fails(traces_, "503", minute + second));
    }
  }
}

TEST_F(FailureNewsTest, WhatWasNoNewsWhenItCameBackIsWhenItLasts) {
  EXPECT_TRUE(fails(traces_, "503", 0s));
  news_.succeeds(&traces_);
  EXPECT_FALSE(fails(traces_, "503", 59s));
  EXPECT_TRUE(fails(traces_, "503", 61s));
}

}  // namespace
}  // namespace lens::exporting
