// SPDX-License-Identifier: Apache-2.0
#include "src/setup/strategy.h"

#include <algorithm>
#include <stdexcept>

#include "src/base/md5.h"
#include "src/base/text.h"

namespace lens::setup {
namespace {

bool is_chosen_rank(const Config& config, const Rank& rank) {
  return rank.rank == (config.export_rank < 0 ? rank.world_size - 1 : config.export_rank);
}

bool is_any_rank(const Config&, const Rank&) { return true; }

bool is_sampled(const Config& config, const Rank& rank) {
  return sampling_value(rank.rank) < config.export_sample_rate;
}

bool is_first_of_node(const Config&, const Rank& rank) { return rank.local_rank == 0; }

constexpr Strategy built_in[] = {
    {"all_ranks", is_any_rank},
    {"first_rank_per_node", is_first_of_node},
    {"sampled", is_sampled},
    {"single_rank", is_chosen_rank},
};

}  // namespace

const Strategy& find_strategy(std::string_view name) {
  const std::string word = base::lower(name);
  const auto found = std::ranges::find(built_in, word, &Strategy::name);
  if (found != std::end(built_in)) return *found;
  std::vector<std::string_view> names;
  for (const Strategy& strategy : built_in) names.push_back(strategy.name);
  throw std::invalid_argument("unknown export strategy \"" + std::string{name} +
                              "\"; valid are: " + base::join(names, ", "));
}

double sampling_value(int rank) {
  unsigned remainder = 0;
  for (std::uint8_t byte : base::md5(std::to_string(rank))) remainder = (remainder * 256 + byte) % 10'000;
  return remainder / 10'000.0;
}

bool exports_nowhere(const Strategy& strategy, const Config& config, int world_size) {
  for (int rank = 0; rank < world_size; ++rank) {
    // The local ranks of the others are not known, but every node has a rank 0.
    if (strategy.exports(config, {.rank = rank, .world_size = world_size, .local_rank = 0})) return false;
  }
  return true;
}

}  // namespace lens::setup
