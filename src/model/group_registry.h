// SPDX-License-Identifier: Apache-2.0
// Every group of the process by name, and which of them are on. Include it to turn groups on or off as a whole.
//
// Threads: all methods, any thread. `enabled` and `note_span` take no lock; the others serialise on one mutex.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "lens/group.h"

namespace lens::detail {

struct GroupUse {
  GroupSet with_spans, without_spans;
};

class GroupRegistry {
 public:
  /// The registry is never destroyed: static destructors may still ask it.
  static GroupRegistry& instance();

  void add(Group& group) noexcept;
  void remove(Group& group) noexcept;

  bool enabled(std::string_view name) const noexcept;
  GroupSet enabled_groups() const;

  /// Whether any library has declared a group of this name, or one was enabled.
  bool knows(std::string_view name) const noexcept { return find(name) != nullptr; }

  /// A span of a watched group has begun. True when it is a step of which not every one is kept. Takes no lock.
  bool note_span(const Group& group) noexcept;
  /// Of the groups that have been on since `open`, those that have had a span and those that have not.
  GroupUse use() const;

  /// Replaces the enabled set, but only while open; see `open`. False when it is not.
  bool enable(const GroupSet& groups);
  /// From now on `enable` has an effect; starts with `groups`. Called when this process begins to record.
  /// `samples_steps`: not every step is kept, so sites of the group `step` must ask.
  void open(const GroupSet& groups, bool samples_steps = false);
  /// Everything off, and `enable` without effect until the next `open`.
  void close() noexcept;

  /// Around fork, so that a child never inherits a mutex that another thread holds.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  /// In a forked child, while locked: the spans were the parent's.
  void forget_spans() noexcept;

 private:
  GroupRegistry() = default;
  void apply(const GroupSet& groups);

  // A name that was enabled or declared, in an open-addressed table that only grows, so that readers need no lock.
  struct Switch {
    std::string name;
    std::atomic<bool> enabled{false};
    std::atomic<bool> has_been_enabled{false};  // since `open`, as the next
    std::atomic<bool> has_had_a_span{false};
  };
  bool asks_each_step(std::string_view name) const noexcept;
  GroupState state_of(const Switch* known) const noexcept;
  void tell_groups() noexcept;
  static constexpr std::size_t table_size = 4096;
  Switch* find(std::string_view name) const noexcept;
  Switch* find_or_add(std::string_view name) noexcept;

  mutable std::mutex mutex_;
  bool open_ = false;
  std::atomic<bool> samples_steps_{false};
  Group* groups_ = nullptr;
  std::size_t switch_count_ = 0;
  std::array<std::atomic<Switch*>, table_size> table_{};
};

}  // namespace lens::detail
