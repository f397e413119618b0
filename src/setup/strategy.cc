// SPDX-License-Identifier: Apache-2.0
#include "src/setup/strategy.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

#include "src/base/md5.h"
#include "src/base/text.h"

namespace lens {
namespace {

bool is_chosen_rank(const Config& config, const Rank& rank) {
  return rank.rank == (config.export_rank < 0 ? rank.world_size - 1 : config.export_rank);
}

bool is_any_rank(const Config&, const Rank&) { return true; }

bool is_first_of_node(const Config&, const Rank& rank) { return rank.local_rank == 0; }

struct BuiltIn {
  std::string_view name;
  bool (*exports)(const Config&, const Rank&);
};

constexpr BuiltIn built_ins[] = {
    {"all_ranks", is_any_rank},
    {"first_rank_per_node", is_first_of_node},
    {"sampled", setup::is_sampled},
    {"single_rank", is_chosen_rank},
};

const BuiltIn* find_built_in(const std::string& name) {
  const auto found = std::ranges::find(built_ins, name, &BuiltIn::name);
  return found != std::end(built_ins) ? found : nullptr;
}

bool is_built_in(const ExportStrategy& strategy) {
  const auto* function = strategy.target<decltype(BuiltIn::exports)>();
  return function != nullptr && std::ranges::find(built_ins, *function, &BuiltIn::exports) != std::end(built_ins);
}

struct Registry {
  std::mutex mutex;
  std::map<std::string, ExportStrategy> registered;
};

// Never destroyed: a library may unregister its own at exit.
Registry& registry() {
  static auto* registry = new Registry;
  return *registry;
}

void lock_registry() { registry().mutex.lock(); }
void unlock_registry() { registry().mutex.unlock(); }

// A forked child gets no mutex locked by a thread that it does not have. From the beginning: a fork that is under way
// runs no handler that comes meanwhile.
[[gnu::constructor]] void hold_over_forks() { pthread_atfork(lock_registry, unlock_registry, unlock_registry); }

// As it can be said in a variable and in a list.
bool is_word(std::string_view key) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
  return !key.empty() && key.find_first_not_of(letters) == std::string_view::npos;
}

std::string key_of(std::string_view name) { return base::lower(base::trim(name)); }

}  // namespace

void register_export_strategy(std::string_view name, ExportStrategy strategy, bool replace) {
  std::string key = key_of(name);
  if (!is_word(key) || !strategy)
    throw std::invalid_argument("an export strategy needs a callable and a name of letters, digits, and . _ -");
  std::lock_guard lock(registry().mutex);
  auto& registered = registry().registered;
  if (!replace && (find_built_in(key) || registered.contains(key)))
    throw std::invalid_argument("there is an export strategy \"" + key + "\" already; to replace it, say so");
  registered.insert_or_assign(std::move(key), std::move(strategy));
}

bool unregister_export_strategy(std::string_view name) {
  const std::string key = key_of(name);
  std::lock_guard lock(registry().mutex);
  if (registry().registered.erase(key) > 0) return true;
  if (find_built_in(key)) throw std::invalid_argument("the export strategy \"" + key + "\" is built in");
  return false;
}

std::vector<std::string> export_strategies() {
  std::vector<std::string> names;
  for (const BuiltIn& strategy : built_ins) names.emplace_back(strategy.name);
  std::lock_guard lock(registry().mutex);
  for (const auto& [name, strategy] : registry().registered)
    if (!find_built_in(name)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

namespace setup {

ExportStrategy find_strategy(std::string_view name) {
  const std::string key = key_of(name);
  {
    std::lock_guard lock(registry().mutex);
    const auto found = registry().registered.find(key);
    if (found != registry().registered.end()) return found->second;
  }
  if (const BuiltIn* built_in = find_built_in(key)) return built_in->exports;
  throw std::invalid_argument("unknown export strategy \"" + std::string{name} +
                              "\"; valid are: " + base::join(export_strategies(), ", "));
}

bool is_sampled(const Config& config, const Rank& rank) {
  // A rate of 0 needs no hash.
  return config.export_sample_rate > 0 && sampling_value(rank.rank) < config.export_sample_rate;
}

double sampling_value(int rank) {
  unsigned remainder = 0;
  for (std::uint8_t byte : base::md5(std::to_string(rank))) remainder = (remainder * 256 + byte) % 10'000;
  return remainder / 10'000.0;
}

bool chooses_nobody(const ExportStrategy& chooses, const Config& config, int world_size, int ranks_per_node,
                    bool with_spans) try {
  // A few tens of milliseconds. A built-in strategy answers within nanoseconds, but for the hash of whom is sampled: as
  // rank 6393 is at every rate above 0, and one of the first 42,920 that begin nodes, whatever these hold up to 64, no
  // more are hashed. Another one may take what it takes: half a microsecond is thought of. Of larger worlds nothing is
  // said.
  const bool is_ours = is_built_in(chooses);
  const std::int64_t most_questions = is_ours ? 1 << 20 : 1 << 17;
  // Of ours, one alone asks for the local rank, and chooses 0.
  const int most_local_ranks = is_ours || ranks_per_node > 0 ? 1 : 64;
  if (std::int64_t{world_size} * std::min(world_size, most_local_ranks) > most_questions) return false;
  for (int rank = 0; rank < world_size; ++rank) {
    const int first = ranks_per_node > 0 ? rank % ranks_per_node : 0;
    const int last = std::min(rank, first + most_local_ranks - 1);
    for (int local_rank = first; local_rank <= last; ++local_rank) {
      const Rank asked{.rank = rank, .world_size = world_size, .local_rank = local_rank};
      if (chooses(config, asked) && (!with_spans || is_sampled(config, asked))) return false;
    }
  }
  return true;
} catch (...) {
  return false;  // what it cannot say of another rank stops nothing on this one
}

}  // namespace setup
}  // namespace lens
