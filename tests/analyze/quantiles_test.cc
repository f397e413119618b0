// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/quantiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace lens::analyze {
namespace {

std::uint64_t exact(std::vector<std::uint64_t> values, double fraction) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size()))) - 1];
}

TEST(Quantiles, are_zero_of_nothing) { EXPECT_EQ(Quantiles().at(0.5), 0u); }

TEST(Quantiles, of_one_sample_are_that_sample) {
  Quantiles quantiles;
  quantiles.add(42);
  for (double fraction : {0.0, 0.5, 1.0}) EXPECT_EQ(quantiles.at(fraction), 42u);
}

TEST(Quantiles, are_exact_while_there_are_few_samples) {
  Quantiles quantiles;
  for (std::uint64_t value : {50, 10, 40, 20, 30}) quantiles.add(value);
  EXPECT_EQ(quantiles.at(0.5), 30u);
  EXPECT_EQ(quantiles.at(0.95), 50u);
  EXPECT_EQ(quantiles.at(0.2), 10u);
}

TEST(Quantiles, stay_within_half_a_percent_of_many_samples) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> durations(13, 3);
  Quantiles quantiles;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<std::uint64_t>(durations(random)));
    quantiles.add(values.back());
  }
  for (double fraction : {0.001, 0.1, 0.5, 0.95, 0.999, 1.0}) {
    auto expected = static_cast<double>(exact(values, fraction));
    EXPECT_NEAR(static_cast<double>(quantiles.at(fraction)), expected, 0.005 * expected + 1) << fraction;
  }
  EXPECT_EQ(quantiles.count(), 100'000u);
}

TEST(Quantiles, hold_the_largest_and_the_smallest_values) {
  Quantiles quantiles;
  for (int i = 0; i < 2000; ++i) quantiles.add(i % 2 == 0 ? 0 : std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(quantiles.at(0.5), 0u);
  EXPECT_GT(quantiles.at(0.51), std::numeric_limits<std::uint64_t>::max() / 200 * 199);
}

}  // namespace
}  // namespace lens::analyze
