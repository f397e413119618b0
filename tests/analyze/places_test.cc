// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lens::analyze {
namespace {

using testing::ElementsAre;

trace::ProcessState rank_in(int rank, std::vector<trace::OpenFrame> stack, bool is_alive = true) {
  trace::ProcessState state;
  state.rank = rank;
  state.is_alive = is_alive;
  state.stack = std::move(stack);
  return state;
}

TEST(Places, AreTheRanksInsideTheSameSpans) {
  const auto places = find_places({rank_in(3, {{"forward", 1}, {"step", 5}}), rank_in(0, {{"forward", 2}, {"step", 5}}),
                                   rank_in(1, {{"recv", 9}, {"step", 9}}), rank_in(2, {{"forward", 3}, {"step", 5}})});
  ASSERT_EQ(places.size(), 2u);
  EXPECT_THAT(places[0].stack, ElementsAre("forward", "step"));
  EXPECT_THAT(places[0].ranks, ElementsAre(0, 2, 3));
  EXPECT_EQ(places[0].shortest_s, 1);
  EXPECT_EQ(places[0].longest_s, 3);
  EXPECT_FALSE(places[0].stands_apart);
  EXPECT_THAT(places[1].ranks, ElementsAre(1));
  EXPECT_TRUE(places[1].stands_apart);
}

TEST(Places, OfEqualNumbersStandApartNowhere) {
  const auto places = find_places({rank_in(0, {{"a", 1}}), rank_in(1, {{"b", 1}})});
  ASSERT_EQ(places.size(), 2u);
  EXPECT_FALSE(places[0].stands_apart);
  EXPECT_FALSE(places[1].stands_apart);
}

TEST(Places, OfTheDeadAreTheirOwnAndComeLast) {
  const auto places =
      find_places({rank_in(0, {{"a", 1}}, false), rank_in(1, {{"a", 1}}, false), rank_in(2, {{"a", 1}})});
  ASSERT_EQ(places.size(), 2u);
  EXPECT_TRUE(places[0].is_alive);
  EXPECT_FALSE(places[0].stands_apart);
  EXPECT_FALSE(places[1].is_alive);
  EXPECT_TRUE(places[1].stands_apart);
}

TEST(Places, SpanTheIterationsOfTheirRanks) {
  auto first = rank_in(0, {}), second = rank_in(1, {}), third = rank_in(2, {});
  first.iteration = 12;
  second.iteration = 10;
  const auto places = find_places({first, second, third});
  ASSERT_EQ(places.size(), 1u);
  EXPECT_TRUE(places[0].stack.empty());
  EXPECT_EQ(places[0].first_iteration, 10);
  EXPECT_EQ(places[0].last_iteration, 12);
}

TEST(Places, OfNoRanksAreNone) { EXPECT_TRUE(find_places({}).empty()); }

TEST(Folded, RanksInARowAreARange) {
  EXPECT_EQ(folded({}), "");
  EXPECT_EQ(folded({5}), "5");
  EXPECT_EQ(folded({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(folded({0, 2, 4, 5}), "0,2,4-5");
}

}  // namespace
}  // namespace lens::analyze
