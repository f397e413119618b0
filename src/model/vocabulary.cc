// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "lens/group.h"
#include "src/base/text.h"

namespace lens {
namespace {

// Specs are read in any case, so names have only one.
void require_lower_case(const std::string& vocabulary, const std::string& name) {
  if (base::lower(name) != name)
    throw std::invalid_argument("vocabulary " + vocabulary + ": \"" + name + "\" must be in lower case");
}

}  // namespace

GroupSet GroupSet::of(std::initializer_list<std::string_view> names) {
  GroupSet set;
  for (std::string_view name : names) set.insert(name);
  return set;
}

void GroupSet::insert(std::string_view name) {
  auto place = std::lower_bound(names_.begin(), names_.end(), name);
  if (place == names_.end() || *place != name) names_.emplace(place, name);
}

bool GroupSet::contains(std::string_view name) const noexcept {
  return std::binary_search(names_.begin(), names_.end(), name);
}

GroupSet operator|(GroupSet left, const GroupSet& right) {
  for (const std::string& name : right) left.insert(name);
  return left;
}

Vocabulary::Vocabulary(std::string name, GroupSet groups, Presets presets)
    : name_(std::move(name)), groups_(std::move(groups)) {
  for (const std::string& group : groups_) require_lower_case(name_, group);
  for (auto& [preset, members] : presets) {
    require_lower_case(name_, preset);
    if (groups_.contains(preset))
      throw std::invalid_argument("vocabulary " + name_ + ": \"" + preset + "\" is both a group and a preset");
    for (const std::string& member : members) {
      if (!groups_.contains(member))
        throw std::invalid_argument("vocabulary " + name_ + ": preset \"" + preset + "\" holds \"" + member +
                                    "\", which is not one of its groups");
    }
    presets_.insert_or_assign(std::move(preset), std::move(members));
  }
  presets_.try_emplace("all", groups_);
}

GroupSet Vocabulary::resolve(std::string_view spec) const {
  GroupSet resolved;
  for (std::string_view item : base::split(spec, ',')) {
    const std::string word = base::lower(base::trim(item));
    if (word.empty()) continue;
    if (auto preset = presets_.find(word); preset != presets_.end()) {
      resolved = std::move(resolved) | preset->second;
    } else if (groups_.contains(word)) {
      resolved.insert(word);
    } else {
      GroupSet valid = groups_;
      for (const auto& [name, members] : presets_) valid.insert(name);
      throw std::invalid_argument("unknown span group or preset \"" + word + "\" in \"" + std::string(spec) +
                                  "\"; valid are: " + base::join(valid, ", "));
    }
  }
  return resolved;
}

const Vocabulary& SpanGroup::vocabulary() {
  static const auto* base = new Vocabulary{
      "base",
      {job, checkpoint, evaluate, model_init, load_checkpoint, step, forward_backward, optimizer},
      {{"default", {job, checkpoint, evaluate}},
       {"per_step", {job, checkpoint, evaluate, model_init, load_checkpoint, step, forward_backward, optimizer}}}};
  return *base;
}

}  // namespace lens
