// SPDX-License-Identifier: Apache-2.0
// Groups are named switches: an instrumentation site names one, and an operator chooses which are on.
// Include this to declare groups of your own, to resolve a spec, or to ask or change what is enabled.
//
// Threads:   `enabled` and `is_span_group_enabled` are lock-free from any thread; `set_enabled_span_groups` may
//            be called from any thread, writers serialise among themselves.
// Ownership: a Group registers itself for as long as it lives, so a library may be unloaded at any time. Groups
//            of one name share one switch, however many libraries declare them.
// Errors:    resolving an unknown word throws std::invalid_argument that lists the valid ones.
// Cost:      a disabled site is one relaxed load, a test and a branch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lens/visibility.h"

namespace lens {

namespace detail {
class GroupRegistry;
/// What a site reads. `watched`: on, and a span that begins is told to the library: the first of its group, and each of
/// the group `step` where not every step is kept.
enum class GroupState : std::uint8_t { off, on, watched };
}  // namespace detail

/// A named switch. Declare it with static storage: `static inline lens::Group rollout{"rollout"};`
class Group {
 public:
  /// `name` is lower case and must outlive the group (a literal does). Off until telemetry enables it.
  LENS_API explicit Group(std::string_view name) noexcept;
  LENS_API ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Relaxed: a flip needs to be seen soon, not in any order with other memory.
  detail::GroupState state() const noexcept { return state_.load(std::memory_order_relaxed); }
  bool enabled() const noexcept { return state() != detail::GroupState::off; }
  std::string_view name() const noexcept { return name_; }

 private:
  friend class detail::GroupRegistry;
  // Of a site's group it changes when the first span begins.
  mutable std::atomic<detail::GroupState> state_{detail::GroupState::off};
  std::string_view name_;
  Group* next_ = nullptr;
};

/// A set of group names, in sorted order.
class GroupSet {
 public:
  GroupSet() = default;
  GroupSet(const Group& group) : names_{std::string(group.name())} {}
  GroupSet(std::initializer_list<std::reference_wrapper<const Group>> groups) {
    for (const Group& group : groups) insert(group.name());
  }
  LENS_API static GroupSet of(std::initializer_list<std::string_view> names);

  LENS_API void insert(std::string_view name);
  LENS_API bool contains(std::string_view name) const noexcept;
  bool empty() const noexcept { return names_.empty(); }
  std::size_t size() const noexcept { return names_.size(); }
  auto begin() const noexcept { return names_.begin(); }
  auto end() const noexcept { return names_.end(); }

  LENS_API friend GroupSet operator|(GroupSet left, const GroupSet& right);
  friend bool operator==(const GroupSet&, const GroupSet&) = default;

 private:
  std::vector<std::string> names_;
};

/// A named list of groups and the presets that bundle them: what a spec is resolved against.
class Vocabulary {
 public:
  using Presets = std::vector<std::pair<std::string, GroupSet>>;

  /// The preset `all` (every group) is added unless `presets` has one. Throws std::invalid_argument when a name is not
  /// in lower case, or a preset is also the name of a group or holds a group that is not in `groups`.
  LENS_API Vocabulary(std::string name, GroupSet groups, Presets presets);

  /// A spec is a comma list of presets and groups: trimmed, any case, empty items skipped, the union of all.
  /// Throws std::invalid_argument that names an unknown word and lists the valid ones in sorted order.
  LENS_API GroupSet resolve(std::string_view spec) const;

  const std::string& name() const noexcept { return name_; }
  const GroupSet& groups() const noexcept { return groups_; }
  const std::map<std::string, GroupSet>& presets() const noexcept { return presets_; }

 private:
  std::string name_;
  GroupSet groups_;
  std::map<std::string, GroupSet> presets_;
};

/// The eight groups of any training program. Derive to add your own, and declare `vocabulary` and `resolve` anew:
/// static members do not know the class they were called through.
struct SpanGroup {
  static inline Group job{"job"}, checkpoint{"checkpoint"}, evaluate{"evaluate"}, model_init{"model_init"},
      load_checkpoint{"load_checkpoint"}, step{"step"}, forward_backward{"forward_backward"}, optimizer{"optimizer"};

  LENS_API static const Vocabulary& vocabulary();
  static GroupSet resolve(std::string_view spec) { return vocabulary().resolve(spec); }
};

/// True when spans of this group are recorded. Asked at call time, never cached.
inline bool is_span_group_enabled(const Group& group) noexcept { return group.enabled(); }

/// The same by name, for callers that have no Group object (C, Python, run-time strings): a hash look-up, lock-free.
LENS_API bool is_span_group_enabled(std::string_view name) noexcept;

/// Replaces the enabled set from now on; a span that has begun still ends normally. Without effect while this process
/// does not export (before set-up, disabled, on a rank that does not export): there every group stays off.
LENS_API void set_enabled_span_groups(const GroupSet& groups);

/// What is enabled now.
LENS_API GroupSet enabled_span_groups();

}  // namespace lens
