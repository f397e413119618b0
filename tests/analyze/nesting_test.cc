// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/nesting.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lens::analyze {
namespace {

std::uint64_t sum(const CategoryTimes& times) { return std::accumulate(times.begin(), times.end(), std::uint64_t{0}); }

TEST(Nesting, takes_the_time_of_children_off_the_parent) {
  Nesting nesting;
  EXPECT_EQ(nesting.end_span({3, 2, 20, 30, Category::forward}), 10u);
  EXPECT_EQ(nesting.end_span({4, 2, 30, 50, Category::forward}), 20u);
  EXPECT_EQ(nesting.end_span({2, 1, 10, 60, Category::rest}), 20u);
  EXPECT_EQ(nesting.end_span({1, 0, 0, 100, Category::rest}), 50u);
}

TEST(Nesting, counts_overlapping_children_once) {
  Nesting nesting;
  nesting.end_span({2, 1, 10, 30, Category::data});
  nesting.end_span({3, 1, 20, 50, Category::data});
  EXPECT_EQ(nesting.end_span({1, 0, 0, 100, Category::rest}), 60u);
}

TEST(Nesting, splits_a_step_so_that_the_parts_add_up) {
  Nesting nesting;
  nesting.end_span({10, 1, 5, 10, Category::data});
  nesting.end_span({21, 20, 20, 40, Category::forward});
  nesting.end_span({11, 1, 50, 52, Category::communication});  // a sibling of 20 within its time
  nesting.end_span({22, 20, 40, 60, Category::backward});
  nesting.end_span({20, 1, 15, 65, Category::forward_backward});
  nesting.end_span({12, 1, 70, 90, Category::optimizer});
  CategoryTimes split;
  EXPECT_EQ(nesting.end_span({1, 0, 0, 100, Category::rest}, &split), 25u);
  EXPECT_EQ(split[index(Category::data)], 5u);
  EXPECT_EQ(split[index(Category::forward)], 20u);
  EXPECT_EQ(split[index(Category::communication)], 2u);
  EXPECT_EQ(split[index(Category::backward)], 18u);
  EXPECT_EQ(split[index(Category::forward_backward)], 0u);  // its own time is the schedule's, since the parts are known
  EXPECT_EQ(split[index(Category::optimizer)], 20u);
  EXPECT_EQ(split[index(Category::rest)], 10u + 25u);
  EXPECT_EQ(sum(split), 100u);
}

TEST(Nesting, counts_what_the_backward_pass_computes_again_as_its_own) {
  Nesting nesting;
  nesting.end_span({3, 2, 20, 30, Category::forward});
  nesting.end_span({4, 2, 30, 35, Category::communication});
  nesting.end_span({2, 1, 10, 60, Category::backward});
  CategoryTimes split;
  nesting.end_span({1, 0, 0, 100, Category::rest}, &split);
  EXPECT_EQ(split[index(Category::forward)], 0u);
  EXPECT_EQ(split[index(Category::backward)], 45u);
  EXPECT_EQ(split[index(Category::communication)], 5u);
}

TEST(Nesting, keeps_forward_and_backward_together_where_microbatches_are_not_recorded) {
  Nesting nesting;
  nesting.end_span({3, 2, 20, 30, Category::communication});
  nesting.end_span({2, 1, 10, 60, Category::forward_backward});
  CategoryTimes split;
  nesting.end_span({1, 0, 0, 100, Category::rest}, &split);
  EXPECT_EQ(split[index(Category::forward_backward)], 40u);
  EXPECT_EQ(split[index(Category::communication)], 10u);
}

TEST(Nesting, gives_work_that_joined_another_rank_s_step_to_the_step_around_it) {
  Nesting nesting;
  CategoryTimes split;
  nesting.end_span({30, 77, 0, 50, Category::data, true});  // before the step, up to its 40th nanosecond
  nesting.end_span({21, 20, 60, 80, Category::communication});
  nesting.end_span({20, 99, 50, 90, Category::forward_backward, true});
  nesting.end_span({11, 1, 90, 95, Category::optimizer});
  EXPECT_EQ(nesting.end_span({1, 0, 10, 100, Category::rest}, &split), 5u);
  EXPECT_EQ(split[index(Category::data)], 40u);
  EXPECT_EQ(split[index(Category::communication)], 20u);
  EXPECT_EQ(split[index(Category::forward_backward)], 20u);
  EXPECT_EQ(split[index(Category::optimizer)], 5u);
  EXPECT_EQ(sum(split), 90u);
  EXPECT_EQ(nesting.end_span({2, 0, 100, 150, Category::rest}, &split), 50u);  // none of it is left for the next
}

TEST(Nesting, splits_a_step_without_children) {
  Nesting nesting;
  CategoryTimes split;
  nesting.end_span({1, 0, 0, 100, Category::rest}, &split);
  EXPECT_EQ(split[index(Category::rest)], 100u);
}

TEST(Nesting, remembers_a_long_parent_while_millions_of_orphans_pass) {
  Nesting nesting;
  nesting.end_span({2, 1, 0, 10, Category::data});
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    nesting.end_span({1'000'000 + i, 10'000'000 + i, 20, 21, Category::rest});
    if (i % 1000 == 0) nesting.end_span({3, 1, 30 + i, 31 + i, Category::data});
  }
  EXPECT_EQ(nesting.end_span({1, 0, 0, 2'000'000, Category::rest}), 2'000'000u - 10u - 1000u);
}

}  // namespace
}  // namespace lens::analyze
