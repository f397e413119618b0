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
  group.state_.store(state_of(find_or_add(group.name_)), std::memory_order_relaxed);
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
    if (!known) continue;
    const bool enabled = groups.contains(known->name);
    known->enabled.store(enabled, std::memory_order_relaxed);
    if (enabled) known->has_been_enabled.store(true, std::memory_order_relaxed);
  }
  tell_groups();
}

void GroupRegistry::tell_groups() noexcept {
  for (Group* group = groups_; group; group = group->next_)
    group->state_.store(state_of(find(group->name_)), std::memory_order_relaxed);
}

bool GroupRegistry::asks_each_step(std::string_view name) const noexcept {
  return samples_steps_.load(std::memory_order_relaxed) && name == "step";
}

GroupState GroupRegistry::state_of(const Switch* known) const noexcept {
  if (!known || !known->enabled.load(std::memory_order_relaxed)) return GroupState::off;
  const bool is_noted = known->has_had_a_span.load(std::memory_order_relaxed);
  return is_noted && !asks_each_step(known->name) ? GroupState::on : GroupState::watched;
}

bool GroupRegistry::note_span(const Group& group) noexcept {
  if (Switch* known = find(group.name_)) known->has_had_a_span.store(true, std::memory_order_relaxed);
  if (asks_each_step(group.name_)) return true;
  // Unless it has been turned off meanwhile.
  GroupState watched = GroupState::watched;
  group.state_.compare_exchange_strong(watched, GroupState::on, std::memory_order_relaxed);
  return false;
}

GroupUse GroupRegistry::use() const {
  GroupUse use;
  for (const auto& slot : table_) {
    const Switch* known = slot.load(std::memory_order_acquire);
    if (!known || !known->has_been_enabled.load(std::memory_order_relaxed)) continue;
    (known->has_had_a_span.load(std::memory_order_relaxed) ? use.with_spans : use.without_spans).insert(known->name);
  }
  return use;
}

void GroupRegistry::forget_spans() noexcept {
  for (auto& slot : table_) {
    Switch* known = slot.load(std::memory_order_relaxed);
    if (!known) continue;
    known->has_been_enabled.store(known->enabled.load(std::memory_order_relaxed), std::memory_order_relaxed);
    known->has_had_a_span.store(false, std::memory_order_relaxed);
  }
  tell_groups();
}

bool GroupRegistry::enable(const GroupSet& groups) {
  std::lock_guard lock(mutex_);
  if (open_) apply(groups);
  return open_;
}

void GroupRegistry::open(const GroupSet& groups, bool samples_steps) {
  std::lock_guard lock(mutex_);
  open_ = true;
  samples_steps_.store(samples_steps, std::memory_order_relaxed);
  forget_spans();
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
