// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/timeline.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace lens::analyze {
namespace {

std::uint64_t time_of(const Timeline& timeline, Category category) { return timeline.times()[index(category)]; }

std::uint64_t sum(const CategoryTimes& times) { return std::accumulate(times.begin(), times.end(), std::uint64_t{0}); }

TEST(Timeline, gives_the_gaps_to_the_span_that_closes_it) {
  Timeline timeline;
  timeline.fill(110, 120, Category::forward);
  timeline.fill(150, 180, Category::backward);
  EXPECT_EQ(timeline.close(100, 200, Category::rest), 60u);
  EXPECT_EQ(time_of(timeline, Category::forward), 10u);
  EXPECT_EQ(time_of(timeline, Category::backward), 30u);
  EXPECT_EQ(time_of(timeline, Category::rest), 60u);
}

TEST(Timeline, leaves_an_instant_with_the_span_that_ended_first) {
  Timeline timeline;
  timeline.fill(120, 130, Category::communication);
  timeline.fill(150, 160, Category::communication);
  timeline.fill(100, 180, Category::backward);  // around both
  timeline.fill(170, 190, Category::optimizer);
  EXPECT_EQ(time_of(timeline, Category::communication), 20u);
  EXPECT_EQ(time_of(timeline, Category::backward), 60u);
  EXPECT_EQ(time_of(timeline, Category::optimizer), 10u);
  EXPECT_EQ(timeline.close(100, 200, Category::rest), 10u);
}

TEST(Timeline, cuts_off_what_lies_outside_the_span_that_closes_it) {
  Timeline timeline;
  timeline.fill(50, 120, Category::data);
  timeline.fill(180, 300, Category::forward);
  EXPECT_EQ(timeline.close(100, 200, Category::rest), 60u);
  EXPECT_EQ(sum(timeline.times()), 100u);
}

TEST(Timeline, is_closed_whole_by_a_span_without_children) {
  Timeline timeline;
  EXPECT_EQ(timeline.close(100, 200, Category::data), 100u);
  timeline.clear();
  EXPECT_EQ(timeline.close(100, 100, Category::data), 0u);
}

TEST(Timeline, takes_the_pieces_of_a_closed_one) {
  Timeline inner, outer;
  inner.fill(110, 120, Category::forward);
  inner.close(100, 130, Category::rest);
  outer.absorb(inner);
  EXPECT_EQ(outer.close(90, 140, Category::optimizer), 20u);
  EXPECT_EQ(time_of(outer, Category::forward), 10u);
  EXPECT_EQ(time_of(outer, Category::rest), 20u);
}

// The memory is bounded by adding up old pieces, which must not change what comes out.
TEST(Timeline, adds_up_exactly_over_more_pieces_than_it_keeps) {
  Timeline timeline, outer;
  constexpr std::uint64_t count = 100'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    timeline.fill(10 * i + 3, 10 * i + 7, i % 2 == 0 ? Category::forward : Category::backward);
  }
  EXPECT_EQ(timeline.close(0, 10 * count, Category::rest), 6 * count);
  EXPECT_EQ(time_of(timeline, Category::forward), 2 * count);
  EXPECT_EQ(sum(timeline.times()), 10 * count);

  outer.absorb(timeline);
  EXPECT_EQ(outer.close(0, 10 * count + 5, Category::data), 5u);
  EXPECT_EQ(sum(outer.times()), 10 * count + 5);
}

TEST(Timeline, always_adds_up_to_the_span_that_closes_it) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Timeline timeline;
    for (int i = 0; i < 30; ++i) {
      std::uint64_t start = random() % 1000, length = random() % 100;
      timeline.fill(start, start + length, static_cast<Category>(random() % category_count));
    }
    timeline.close(100, 900, Category::rest);
    ASSERT_EQ(sum(timeline.times()), 800u);
  }
}

}  // namespace
}  // namespace lens::analyze
