// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/places.h"

#include <algorithm>
#include <map>
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

}  // namespace

std::vector<Place> find_places(const std::vector<trace::ProcessState>& ranks) {
  std::map<std::pair<bool, std::vector<std::string>>, Place> by_stack;
  for (const trace::ProcessState& rank : ranks) {
    std::vector<std::string> stack;
    for (const trace::OpenFrame& frame : rank.stack) stack.push_back(frame.name);
    Place& place = by_stack[{rank.is_alive, stack}];
    place.stack = std::move(stack);
    place.is_alive = rank.is_alive;
    add(place, rank);
  }
  std::vector<Place> places;
  for (auto& [key, place] : by_stack) {
    std::sort(place.ranks.begin(), place.ranks.end());
    places.push_back(std::move(place));
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& left, const Place& right) {
    return std::pair(right.is_alive, right.ranks.size()) < std::pair(left.is_alive, left.ranks.size());
  });
  for (Place& place : places) place.stands_apart = !place.is_alive || place.ranks.size() < places.front().ranks.size();
  return places;
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
