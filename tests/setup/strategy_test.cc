// SPDX-License-Identifier: Apache-2.0
#include "src/setup/strategy.h"

#include <gmock/gmock.h>
#include <time.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"

namespace lens::setup {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// The ranks of a world that export.
std::vector<int> chosen(const Config& config, int world_size) {
  const ExportStrategy strategy = find_strategy(config.export_strategy);
  std::vector<int> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    if (strategy(config, {.rank = rank, .world_size = world_size, .local_rank = rank % 4})) ranks.push_back(rank);
  }
  return ranks;
}

TEST(Strategy, SingleRankIsTheLastByDefault) { EXPECT_THAT(chosen({}, 8), ElementsAre(7)); }

// Contract: 2.single-rank
TEST(Strategy, SingleRankTakesAnyNegativeNumberForTheLast) {
  Config config;
  config.export_rank = -5;
  EXPECT_THAT(chosen(config, 8), ElementsAre(7));
}

// Contract: 2.single-rank
TEST(Strategy, SingleRankIsTheOneThatIsNamed) {
  Config config;
  config.export_rank = 2;
  EXPECT_THAT(chosen(config, 8), ElementsAre(2));
  EXPECT_FALSE(chooses_nobody(find_strategy("single_rank"), config, 8));
}

TEST(Strategy, SingleRankBeyondTheWorldExportsNowhere) {
  Config config;
  config.export_rank = 8;
  EXPECT_THAT(chosen(config, 8), ElementsAre());
  EXPECT_TRUE(chooses_nobody(find_strategy("single_rank"), config, 8));
}

// Contract: 2.all-ranks
TEST(Strategy, AllRanksIsAllRanks) {
  Config config;
  config.export_strategy = "all_ranks";
  EXPECT_THAT(chosen(config, 3), ElementsAre(0, 1, 2));
}

// Contract: 2.first-rank-per-node
TEST(Strategy, FirstRankPerNodeIsLocalRankZero) {
  Config config;
  config.export_strategy = "first_rank_per_node";
  EXPECT_THAT(chosen(config, 9), ElementsAre(0, 4, 8));
}

// Contract: 2.sampled
TEST(Strategy, SamplingValuesAreThoseOfTheVectors) {
  std::ifstream file{LENS_TEST_VECTORS "/sampled_ranks.json"};
  const auto vectors = nlohmann::json::parse(file).at("values");
  ASSERT_GE(vectors.size(), 60u);
  for (const auto& [rank, value] : vectors.items()) EXPECT_DOUBLE_EQ(sampling_value(std::stoi(rank)), value) << rank;
}

// Contract: 2.sampled
TEST(Strategy, SampledAtATenthChoosesTheSameRanksEverywhere) {
  Config config;
  config.export_strategy = "sampled";
  config.export_sample_rate = 0.1;
  EXPECT_THAT(chosen(config, 64), ElementsAre(3, 5, 6, 31, 55));
}

TEST(Strategy, SampledAtOneIsEverybodyAndAtZeroNobody) {
  Config config;
  config.export_strategy = "sampled";
  EXPECT_EQ(chosen(config, 64).size(), 64u);
  config.export_sample_rate = 0.0;
  EXPECT_THAT(chosen(config, 64), ElementsAre());
  EXPECT_TRUE(chooses_nobody(find_strategy("sampled"), config, 64));
  EXPECT_TRUE(chooses_nobody(find_strategy("sampled"), config, 100'000));
  EXPECT_FALSE(chooses_nobody(find_strategy("sampled"), config, 2'000'000'000)) << "too many to ask";
}

/// Processor time of this thread.
std::chrono::nanoseconds time_taken(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto began = now();
  work();
  return now() - began;
}

// Contract: 2.nobody
TEST(Strategy, SampledAtZeroIsKnownToBeNobodyWithoutAHashOfEachRank) {
  constexpr int world_size = 1 << 20;
  Config config;
  config.export_sample_rate = 0.0;
  const auto look = time_taken([&] {
    EXPECT_TRUE(chooses_nobody(find_strategy("sampled"), config, world_size));
    EXPECT_TRUE(chooses_nobody(find_strategy("all_ranks"), config, world_size, 0, true));
  });
  const auto hashes = time_taken([] {
    for (int rank = 0; rank < world_size / 2; ++rank) EXPECT_GE(sampling_value(rank), 0.0);
  });
  EXPECT_LT(look, hashes);
}

// Contract: 2.nobody
TEST(Strategy, AtEveryRateAboveZeroAWorldOfThousandsHasSomebody) {
  Config config;
  config.export_sample_rate = 1e-9;
  EXPECT_TRUE(chooses_nobody(find_strategy("sampled"), config, 6393));
  EXPECT_FALSE(chooses_nobody(find_strategy("sampled"), config, 6394));
}

// Contract: 2.nobody
TEST(Strategy, AnUnknownOneIsAskedOfEveryPlaceOnANodeOrNotAtAll) {
  int asked = 0;
  int exports_at = -1;
  const ExportStrategy strategy = [&](const Config&, const Rank& rank) {
    ++asked;
    return rank.local_rank == exports_at;
  };
  EXPECT_TRUE(chooses_nobody(strategy, {}, 2048));
  EXPECT_TRUE(chooses_nobody(strategy, {}, 1 << 17, 8));
  EXPECT_LE(asked, 2 << 17);
  exports_at = 40;
  EXPECT_FALSE(chooses_nobody(strategy, {}, 2048)) << "a node may hold so many";
  EXPECT_TRUE(chooses_nobody(strategy, {}, 2048, 8));
  asked = 0;
  EXPECT_FALSE(chooses_nobody(strategy, {}, 2049));
  EXPECT_FALSE(chooses_nobody(strategy, {}, (1 << 17) + 1, 8));
  EXPECT_EQ(asked, 0);
}

TEST(Strategy, SampledAtAHundredthExportsNowhereInASmallWorld) {
  Config config;
  config.export_sample_rate = 0.01;
  EXPECT_TRUE(chooses_nobody(find_strategy("sampled"), config, 32));
  EXPECT_FALSE(chooses_nobody(find_strategy("sampled"), config, 64));
}

TEST(Strategy, NamesAreFoundInAnyCase) { EXPECT_TRUE(find_strategy("All_Ranks")({}, {})); }

// Contract: 2.strategy-names
TEST(Strategy, AnUnknownNameIsAnErrorThatListsTheOthers) {
  EXPECT_THAT(test::invalid_argument_of([] { find_strategy("some"); }),
              AllOf(HasSubstr("\"some\""), HasSubstr("all_ranks, first_rank_per_node, sampled, single_rank")));
}

/// Takes its strategy away again.
struct Registered {
  std::string name;
  Registered(std::string given, ExportStrategy strategy, bool replace = false) : name(std::move(given)) {
    register_export_strategy(name, std::move(strategy), replace);
  }
  ~Registered() { unregister_export_strategy(name); }
};

bool is_even(const Config&, const Rank& rank) { return rank.rank % 2 == 0; }

// Contract: 2.registry
TEST(StrategyRegistry, FindsARegisteredOneInAnyCase) {
  const Registered even{"Even_Ranks", is_even};
  Config config;
  config.export_strategy = "EVEN_ranks";
  EXPECT_THAT(chosen(config, 6), ElementsAre(0, 2, 4));
}

// Contract: 2.registry
TEST(StrategyRegistry, ListsAllNames) {
  EXPECT_THAT(export_strategies(), ElementsAre("all_ranks", "first_rank_per_node", "sampled", "single_rank"));
  const Registered even{"even", is_even}, sampled{"sampled", is_even, true};
  EXPECT_THAT(export_strategies(), ElementsAre("all_ranks", "even", "first_rank_per_node", "sampled", "single_rank"));
  EXPECT_THAT(test::invalid_argument_of([] { find_strategy("some"); }), HasSubstr("all_ranks, even, first"));
}

// Contract: 2.registry
TEST(StrategyRegistry, ReplacesOnlyWhenToldTo) {
  const Registered even{"even", is_even};
  const auto nobody = [](const Config&, const Rank&) { return false; };
  for (const char* taken : {"even", "single_rank", "ALL_RANKS"}) {
    EXPECT_THAT(test::invalid_argument_of([&] { register_export_strategy(taken, nobody); }), HasSubstr("already"));
    EXPECT_TRUE(find_strategy(taken)({}, {})) << "it has changed all the same";
  }
  register_export_strategy("even", nobody, true);
  EXPECT_FALSE(find_strategy("even")({}, {}));
}

// Contract: 2.registry
TEST(StrategyRegistry, KeepsBuiltInOnes) {
  {
    const Registered all{"all_ranks", is_even, true};
    EXPECT_FALSE(find_strategy("all_ranks")({}, {.rank = 1, .world_size = 2}));
  }
  EXPECT_TRUE(find_strategy("all_ranks")({}, {.rank = 1, .world_size = 2}));
  EXPECT_THAT(test::invalid_argument_of([] { unregister_export_strategy("all_ranks"); }), HasSubstr("built in"));
}

// Contract: 2.registry
TEST(StrategyRegistry, TakesOneAwayOnce) {
  register_export_strategy("even", is_even);
  EXPECT_TRUE(unregister_export_strategy("even"));
  EXPECT_FALSE(unregister_export_strategy("even"));
}

TEST(StrategyRegistry, NeedsANameAndACallable) {
  for (const char* no_word : {" ", "a b", "a,b", "a=\"b\"", "größte"})
    EXPECT_NE(test::invalid_argument_of([&] { register_export_strategy(no_word, is_even); }), "") << no_word;
  EXPECT_NE(test::invalid_argument_of([] { register_export_strategy("empty", {}); }), "");
}

}  // namespace
}  // namespace lens::setup
