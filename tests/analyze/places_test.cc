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
  EXPECT_EQ(places[0].mark, Mark::none);
  EXPECT_THAT(places[1].ranks, ElementsAre(1));
  EXPECT_EQ(places[1].mark, Mark::apart);
}

TEST(Places, OfEqualNumbersAreMarkedWhereRanksHaveBeenForLongest) {
  const auto places = find_places({rank_in(0, {{"a", 1}}), rank_in(1, {{"b", 1.5}}), rank_in(2, {{"c", 0.5}})});
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].mark, Mark::none);
  EXPECT_EQ(places[1].mark, Mark::here_first);
  EXPECT_EQ(places[2].mark, Mark::none);
}

TEST(Places, OfEqualNumbersAreMarkedWhereAnIterationIsBehind) {
  auto first = rank_in(0, {{"a", 30}}), second = rank_in(1, {{"b", 10}});
  first.iteration = 8;
  second.iteration = 7;
  const auto places = find_places({first, second});
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].mark, Mark::none);
  EXPECT_EQ(places[1].mark, Mark::behind);
}

TEST(Places, ThatAreFewerStandApartEvenFromTwoThatAreEquallyFull) {
  const auto places = find_places({rank_in(0, {{"a", 1}}), rank_in(1, {{"a", 1}}), rank_in(2, {{"b", 9}}),
                                   rank_in(3, {{"b", 9}}), rank_in(4, {{"c", 1}})});
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].mark, Mark::none);
  EXPECT_EQ(places[1].mark, Mark::none);
  EXPECT_EQ(places[2].mark, Mark::apart);
}

TEST(Places, OfTheDeadAreTheirOwnAndComeLast) {
  const auto places =
      find_places({rank_in(0, {{"a", 1}}, false), rank_in(1, {{"a", 1}}, false), rank_in(2, {{"a", 1}})});
  ASSERT_EQ(places.size(), 2u);
  EXPECT_TRUE(places[0].is_alive);
  EXPECT_EQ(places[0].mark, Mark::none);
  EXPECT_FALSE(places[1].is_alive);
  EXPECT_EQ(places[1].mark, Mark::dead);
}

TEST(Places, SpanTheIterationsOfTheirRanks) {
  auto first = rank_in(0, {}), second = rank_in(1, {}), third = rank_in(2, {});
  first.iteration = 12;
  second.iteration = 11;
  const auto places = find_places({first, second, third});
  ASSERT_EQ(places.size(), 1u);
  EXPECT_TRUE(places[0].stack.empty());
  EXPECT_EQ(places[0].first_iteration, 11);
  EXPECT_EQ(places[0].last_iteration, 12);
}

std::vector<trace::ProcessState> ranks_at(const std::vector<std::int64_t>& iterations, bool is_alive = true) {
  std::vector<trace::ProcessState> ranks;
  for (std::size_t rank = 0; rank < iterations.size(); ++rank) {
    ranks.push_back(rank_in(int(rank), {{"train_step", 1}}, is_alive));
    ranks.back().iteration = iterations[rank];
  }
  return ranks;
}

// Contract: 3.top-behind
TEST(Places, OfRanksMoreThanAnIterationBehindTheMostInTheSameSpansAreTheirOwn) {
  const auto places = find_places(ranks_at({50, 50, 40, 50, 49, 48}));
  ASSERT_EQ(places.size(), 2u);
  EXPECT_THAT(places[0].ranks, ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(places[0].first_iteration, 49);
  EXPECT_EQ(places[0].last_iteration, 50);
  EXPECT_EQ(places[0].mark, Mark::none);
  EXPECT_THAT(places[1].stack, ElementsAre("train_step"));
  EXPECT_THAT(places[1].ranks, ElementsAre(2, 5));
  EXPECT_EQ(places[1].first_iteration, 40);
  EXPECT_EQ(places[1].last_iteration, 48);
  EXPECT_EQ(places[1].mark, Mark::behind);
}

// Contract: 3.top-behind
TEST(Places, OfRanksBehindComeAfterThoseOfTheOthers) {
  auto ranks = ranks_at({50, 40, 40, 50, 50, 50});
  ranks[5].stack = {{"save", 1}};
  ranks.push_back(rank_in(6, {{"train_step", 1}}, false));
  const auto places = find_places(ranks);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_THAT(places[0].ranks, ElementsAre(0, 3, 4));
  EXPECT_EQ(places[0].mark, Mark::none);
  EXPECT_THAT(places[1].ranks, ElementsAre(5));
  EXPECT_EQ(places[1].mark, Mark::apart);
  EXPECT_THAT(places[2].ranks, ElementsAre(1, 2));
  EXPECT_EQ(places[2].mark, Mark::behind);
  EXPECT_EQ(places[3].mark, Mark::dead);
}

TEST(Places, OfTwoRanksInTheSameSpansTellWhoIsBehind) {
  const auto places = find_places(ranks_at({50, 40}));
  ASSERT_EQ(places.size(), 2u);
  EXPECT_THAT(places[1].ranks, ElementsAre(1));
  EXPECT_EQ(places[1].mark, Mark::behind);
}

TEST(Places, OfDeadRanksAreNotParted) { EXPECT_EQ(find_places(ranks_at({50, 40, 50}, false)).size(), 1u); }

TEST(Places, OfNoRanksAreNone) { EXPECT_TRUE(find_places({}).empty()); }

trace::ProcessState process(int rank, int pid, bool is_alive, std::optional<int> fork_count, std::int64_t start) {
  trace::ProcessState state = rank_in(rank, {}, is_alive);
  state.pid = pid;
  state.fork_count = fork_count;
  state.start_unix_ns = start;
  return state;
}

std::vector<int> pids_of(const std::vector<trace::ProcessState>& processes) {
  std::vector<int> pids;
  for (const auto& process : processes) pids.push_back(process.pid);
  return pids;
}

TEST(Processes, OfARankAreRepresentedByTheLivingThenTheFewestForksThenTheNewest) {
  const Ranks ranks = choose_processes({process(1, 10, false, 0, 500), process(1, 11, true, 0, 100),
                                        process(1, 12, true, 1, 300), process(1, 13, true, 0, 200),
                                        process(0, 20, true, std::nullopt, 400), process(0, 21, true, 2, 300)});
  EXPECT_THAT(pids_of(ranks.standing), ElementsAre(21, 13));
  EXPECT_THAT(pids_of(ranks.dead), ElementsAre(10));
}

TEST(Processes, OfARankThatAreAllDeadAreRepresentedByTheNewest) {
  const Ranks ranks = choose_processes({process(3, 10, false, 0, 100), process(3, 11, false, 0, 200)});
  EXPECT_THAT(pids_of(ranks.standing), ElementsAre(11));
  EXPECT_THAT(pids_of(ranks.dead), ElementsAre(10));
}

TEST(Folded, RanksInARowAreARange) {
  EXPECT_EQ(folded({}), "");
  EXPECT_EQ(folded({5}), "5");
  EXPECT_EQ(folded({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(folded({0, 2, 4, 5}), "0,2,4-5");
}

}  // namespace
}  // namespace lens::analyze
