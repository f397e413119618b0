// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/places.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace lens::analyze {
namespace {

void add(Place& place, const trace::ProcessState& rank) {
  const double open_s = rank.stack.empty() ? 0 : rank.stack.front().open_s;
  const bool first = place.ranks.empty();
  place.shortest_s = first ? open_s : std::min(place.shortest_s, open_s);
  place.longest_s = first ? open_s : std::max(place.longest_s, open_s);
  place.ranks.push_back(rank.rank);
  if (!rank.iteration) return;
  place.first_iteration = std::min(place.first_iteration.value_or(*rank.iteration), *rank.iteration);
  place.last_iteration = std::max(place.last_iteration.value_or(*rank.iteration), *rank.iteration);
}

std::int64_t iteration_of(const Place& place) {
  return place.first_iteration.value_or(std::numeric_limits<std::int64_t>::max());
}

// Of equally full places, the one that the others are likely to wait for.
void mark_suspect(std::span<Place> places) {
  const auto [least, most] = std::minmax_element(
      places.begin(), places.end(),
      [](const Place& left, const Place& right) { return iteration_of(left) < iteration_of(right); });
  const bool all_alike = iteration_of(*least) == iteration_of(*most);
  const auto longest = std::max_element(places.begin(), places.end(), [](const Place& left, const Place& right) {
    return left.longest_s < right.longest_s;
  });
  if (all_alike) {
    longest->mark = Mark::here_first;
  } else {
    for (Place& place : places)
      if (iteration_of(place) == iteration_of(*least)) place.mark = Mark::behind;
  }
}

// `places` has those that have no mark yet before the others, the fullest first.
void mark(std::vector<Place>& places) {
  const auto marked =
      std::find_if(places.begin(), places.end(), [](const Place& place) { return place.mark != Mark::none; });
  const std::span<Place> living(places.begin(), marked);
  if (living.size() < 2) return;
  const std::size_t fullest = living.front().ranks.size();
  if (living.back().ranks.size() == fullest) return mark_suspect(living);
  for (Place& place : living)
    if (place.ranks.size() < fullest) place.mark = Mark::apart;
}

using Ranked = std::vector<const trace::ProcessState*>;

// Ranks that wait for each other are one iteration apart at most. Of two halves the one that is further on counts.
std::optional<std::int64_t> least_iteration_of_most(const Ranked& ranks) {
  std::vector<std::int64_t> iterations;
  for (const trace::ProcessState* rank : ranks)
    if (rank->iteration) iterations.push_back(*rank->iteration);
  if (iterations.empty()) return std::nullopt;
  const auto median = iterations.begin() + std::ptrdiff_t(iterations.size() / 2);
  std::nth_element(iterations.begin(), median, iterations.end());
  return std::max(*median, std::numeric_limits<std::int64_t>::min() + 1) - 1;
}

/// Ranks in the same spans: one place, or two where some are behind.
void add_places(const std::vector<std::string>& stack, bool is_alive, const Ranked& ranks, std::vector<Place>& places) {
  Place together, behind;
  together.stack = behind.stack = stack;
  together.is_alive = is_alive;
  together.mark = is_alive ? Mark::none : Mark::dead;
  behind.mark = Mark::behind;
  const std::optional<std::int64_t> least = is_alive ? least_iteration_of_most(ranks) : std::nullopt;
  for (const trace::ProcessState* rank : ranks) {
    const bool is_behind = least && rank->iteration && *rank->iteration < *least;
    add(is_behind ? behind : together, *rank);
  }
  for (Place* place : {&together, &behind}) {
    if (place->ranks.empty()) continue;
    std::ranges::sort(place->ranks);
    places.push_back(std::move(*place));
  }
}

}  // namespace

std::vector<Place> find_places(const std::vector<trace::ProcessState>& ranks) {
  std::map<std::pair<bool, std::vector<std::string>>, Ranked> by_stack;
  for (const trace::ProcessState& rank : ranks) {
    std::vector<std::string> stack;
    for (const trace::OpenFrame& frame : rank.stack) stack.push_back(frame.name);
    by_stack[{rank.is_alive, std::move(stack)}].push_back(&rank);
  }
  std::vector<Place> places;
  for (const auto& [key, standing] : by_stack) add_places(key.second, key.first, standing, places);
  std::ranges::stable_sort(places, [](const Place& left, const Place& right) {
    const auto order = [](const Place& place) {
      return std::tuple(place.is_alive, place.mark == Mark::none, place.ranks.size());
    };
    return order(right) < order(left);
  });
  mark(places);
  return places;
}

Ranks choose_processes(std::vector<trace::ProcessState> processes) {
  const auto rating = [](const trace::ProcessState& process) {
    return std::tuple(process.is_alive, process.fork_count.has_value(), -process.fork_count.value_or(0),
                      process.start_unix_ns);
  };
  std::stable_sort(processes.begin(), processes.end(), [&](const auto& left, const auto& right) {
    return std::pair(left.rank, rating(right)) < std::pair(right.rank, rating(left));
  });
  Ranks ranks;
  for (trace::ProcessState& process : processes) {
    if (ranks.standing.empty() || ranks.standing.back().rank != process.rank)
      ranks.standing.push_back(std::move(process));
    else if (!process.is_alive)
      ranks.dead.push_back(std::move(process));
  }
  return ranks;
}

std::string folded(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text += '-' + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace lens::analyze
