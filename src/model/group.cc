// SPDX-License-Identifier: Apache-2.0
#include "lens/group.h"

#include <algorithm>
#include <new>

#include "src/model/group_registry.h"

namespace lens {
namespace detail {

GroupRegistry& GroupRegistry::instance() {
  static auto* registry = new GroupRegistry;
  return *registry;
}

GroupRegistry::Switch* GroupRegistry::find(std::string_view name) const noexcept {
  std::size_t slot = std::hash<std::string_view>{}(name) % table_size;
  // Acquire pairs with the release in find_or_add: the name is complete before the pointer is seen.
  while (Switch* found = table_[slot].load(std::memory_order_acquire)) {
    if (found->name == name) return found;
    slot = (slot + 1) % table_size;
  }
  return nullptr;
}

// Null when the table is three quarters full: look-ups must always meet an empty slot.
GroupRegistry::Switch* GroupRegistry::find_or_add(std::string_view name) noexcept try {
  if (Switch* found = find(name)) return found;
  if (switch_count_ >= table_size / 4 * 3) return nullptr;
  std::size_t slot = std::hash<std::string_view>{}(name) % table_size;
  while (table_[slot].load(std::memory_order_relaxed)) slot = (slot + 1) % table_size;
  auto* added = new Switch{std::string(name)};
  table_[slot].store(added, std::memory_order_release);
  ++switch_count_;
  return added;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void GroupRegistry::add(Group& group) noexcept {
  std::lock_guard lock(mutex_);
  group.next_ = groups_;
  groups_ = &group;
  const Switch* known = find_or_add(group.name_);
  const bool enabled = known && known->enabled.load(std::memory_order_relaxed);
  group.state_.store(state_of(group.name_, enabled), std::memory_order_relaxed);
}

void GroupRegistry::remove(Group& group) noexcept {
  std::lock_guard lock(mutex_);
  for (Group** link = &groups_; *link; link = &(*link)->next_) {
    if (*link != &group) continue;
    *link = group.next_;
    break;
  }
  group.state_.store(GroupState::off, std::memory_order_relaxed);
}

bool GroupRegistry::enabled(std::string_view name) const noexcept {
  const Switch* found = find(name);
  return found && found->enabled.load(std::memory_order_relaxed);
}

GroupSet GroupRegistry::enabled_groups() const {
  GroupSet groups;
  for (const auto& slot : table_) {
    const Switch* known = slot.load(std::memory_order_acquire);
    if (known && known->enabled.load(std::memory_order_relaxed)) groups.insert(known->name);
  }
  return groups;
}

void GroupRegistry::apply(const GroupSet& groups) {
  for (const std::string& name : groups) find_or_add(name);
  for (auto& slot : table_) {
    Switch* known = slot.load(std::memory_order_relaxed);
    if (known) known->enabled.store(groups.contains(known->name), std::memory_order_relaxed);
  }
  for (Group* group = groups_; group; group = group->next_)
    group->state_.store(state_of(group->name_, groups.contains(group->name_)), std::memory_order_relaxed);
}

GroupState GroupRegistry::state_of(std::string_view name, bool enabled) const noexcept {
  if (!enabled) return GroupState::off;
  return samples_steps_ && name == "step" ? GroupState::by_step : GroupState::on;
}

void GroupRegistry::enable(const GroupSet& groups) {
  std::lock_guard lock(mutex_);
  if (open_) apply(groups);
}

void GroupRegistry::open(const GroupSet& groups, bool samples_steps) {
  std::lock_guard lock(mutex_);
  open_ = true;
  samples_steps_ = samples_steps;
  apply(groups);
}

void GroupRegistry::close() noexcept {
  std::lock_guard lock(mutex_);
  open_ = false;
  apply({});
}

}  // namespace detail

Group::Group(std::string_view name) noexcept : name_(name) { detail::GroupRegistry::instance().add(*this); }
Group::~Group() { detail::GroupRegistry::instance().remove(*this); }

bool is_span_group_enabled(std::string_view name) noexcept { return detail::GroupRegistry::instance().enabled(name); }

void set_enabled_span_groups(const GroupSet& groups) { detail::GroupRegistry::instance().enable(groups); }

GroupSet enabled_span_groups() { return detail::GroupRegistry::instance().enabled_groups(); }

}  // namespace lens
