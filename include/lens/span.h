// SPDX-License-Identifier: Apache-2.0
// Spans: what a trainer writes at an instrumentation site.
// Include lens/lens.h in programs; include this alone in libraries that only record.
//
// Threads:   a scope belongs to the thread that opened it; closing it elsewhere, or out of order, is recorded right
//            but slower (and when closed elsewhere, what its own thread begins nests under it until the next drain).
//            A SpanHandle may move between threads.
// Ownership: nothing is borrowed after a call returns.
// Errors:    none: every call is noexcept (but for what a deferred attribute throws). What finds no room is dropped
//            and counted.
// Cost:      disabled: load, test, branch. Enabled: two clock reads and two 16-byte records.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lens/attribute.h"
#include "lens/context.h"
#include "lens/group.h"

namespace lens {

/// The name of a span. A literal's hash is computed by the compiler; any other string's at each call.
class Name {
 public:
  template <std::size_t N>
  consteval Name(const char (&literal)[N])
      : text_(literal), size_(N - 1), hash_(detail::text_hash(literal, N - 1)), literal_(true) {}
  template <class T>
  requires(detail::Text<T> && !std::is_array_v<T>) Name(const T& text) : Name(std::string_view(text), 0) {}
  template <std::size_t N>
  Name(char (&buffer)[N]) : Name(std::string_view(buffer), 0) {}

  std::string_view text() const noexcept { return {text_, size_}; }
  LENS_INLINE std::uint32_t id() const noexcept { return detail::name_id(text_, size_, hash_); }
  /// The same name, which outlives the string that it was made from.
  Name lasting() const noexcept {
    Name name = *this;
    if (!literal_) name.text_ = detail::interned_text(id()).data();
    return name;
  }

 private:
  Name(std::string_view text, int) noexcept
      : text_(text.data()), size_(text.size()), hash_(detail::text_hash(text.data(), text.size())) {}

  const char* text_;
  std::size_t size_;
  std::uint64_t hash_;
  bool literal_ = false;
};

enum class SpanKind : std::uint8_t { internal = 1, server = 2, client = 3, producer = 4, consumer = 5 };
enum class StatusCode : std::uint8_t { unset = 0, ok = 1, error = 2 };

using SystemTime = std::chrono::system_clock::time_point;

namespace detail {
/// OTLP has no times before 1970.
inline std::uint64_t unix_ns(SystemTime time) noexcept {
  const auto since_1970 = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(std::max(since_1970, std::chrono::nanoseconds(0)).count());
}
}  // namespace detail

/// What else a span can say. All of it optional.
struct SpanOptions {
  SpanKind kind = SpanKind::internal;
  SpanContext parent{};  // instead of the calling thread's current span
  bool root = false;     // begin a trace of its own, whatever is current
  std::vector<SpanContext> links{};
  std::optional<SystemTime> start{};  // instead of now
};

namespace detail {

inline constexpr struct NoRecord {
} no_record{};

/// Whether this process records at all.
extern LENS_API std::atomic<bool> recording;

LENS_API void set_status(Position position, StatusCode code, std::string_view message) noexcept;
LENS_API void add_link(Position position, const SpanContext& context) noexcept;
/// The number of a step: of its attributes, the integer whose key is `iteration` or ends in `.iteration`.
constexpr bool is_iteration(std::string_view key) noexcept { return key == "iteration" || key.ends_with(".iteration"); }
template <class K, class V>
constexpr void find_iteration(std::optional<std::int64_t>& found, const Attribute<K, V>& attribute) noexcept {
  if constexpr (std::integral<std::remove_cvref_t<V>>)
    if (is_iteration(attribute.key.name())) found = static_cast<std::int64_t>(attribute.value);
}
template <class... Known>
constexpr std::optional<std::int64_t> iteration_of(const Known&... attributes) noexcept {
  std::optional<std::int64_t> found;
  (find_iteration(found, attributes), ...);
  return found;
}

/// Of a scope that has begun in a group that is watched: notes that the group has spans, and where not every step is
/// kept decides whether this one is.
LENS_API void enter_watched(const Group& group, Position position, std::optional<std::int64_t> iteration) noexcept;
/// The same for a span that is no scope.
LENS_API bool keeps_watched(const Group& group, Position position, const SpanOptions& options,
                            std::optional<std::int64_t> iteration) noexcept;

/// Items as one, for code that does not know their types. Borrows them.
struct ItemsView {
  template <class... Items>
  explicit ItemsView(const std::tuple<Items...>& all) noexcept : items(&all) {
    size = std::apply([](const auto&... item) { return (std::uint64_t{0} + ... + item.bytes()); }, all);
    count = sizeof...(Items);
    write_all = [](const void* from, std::byte* at) noexcept {
      const auto write = [&at](const auto&... item) { ((item.write(at), at += item.bytes()), ...); };
      std::apply(write, *static_cast<const std::tuple<Items...>*>(from));
    };
  }
  std::uint64_t bytes() const noexcept { return size; }
  void write(std::byte* at) const noexcept { write_all(items, at); }

  const void* items;
  std::uint64_t size;
  std::size_t count;
  void (*write_all)(const void* items, std::byte* at) noexcept;
};

/// Begins a scope with options and attributes, in one record; 0 when there was no room.
LENS_API Position begin_scope_with(Name name, const SpanOptions& options, const ItemsView& attributes,
                                   unsigned& exceptions) noexcept;
LENS_API SpanContext context_of(Position position) noexcept;
/// Of the span that is current on this thread, also of a handle that is active; 0 outside of any.
LENS_API Position current_position() noexcept;

/// Finds room for a record about a span; there is none for a span that was inherited through fork. False: the record
/// is lost, which is counted and, when it was not an end, told of the span.
LENS_API bool make_room_about(Position position, std::uint64_t bytes, RecordKind kind) noexcept;

/// Appends a record about the span at `position`, from whatever thread.
template <class... Items>
inline void append_about(Position position, RecordKind kind, std::uint32_t reference, bool names_span,
                         const Items&... items) noexcept {
  ThreadState& thread = thread_state;
  const bool elsewhere = !names_span || !names_by_half(position, thread.position());
  const ScalarItem target{{0, ItemType::position, 0, 0}, position};
  const std::uint64_t fixed_bytes = sizeof(RecordHeader) + (elsewhere ? target.bytes() : 0);
  const std::uint64_t bytes = (fixed_bytes + ... + items.bytes());
  if (thread.position() + bytes > thread.limit && !make_room_about(position, bytes, kind)) return;
  const std::uint32_t form = RecordHeader::form_of(bytes, kind, elsewhere);
  const std::uint64_t ticks = now_ticks(thread);
  if (elsewhere) {
    append(thread, thread.position(), bytes, form, reference, ticks, target, items...);
  } else {
    append(thread, thread.position(), bytes, form, reference, ticks, items...);
  }
}

}  // namespace detail

/// What a scope and a handle can be told while the span is open. On an empty span nothing happens.
template <class Derived>
class SpanOperations {
 public:
  /// Sets attributes; of equal keys the last wins. Deferred values are called only when the span is recorded.
  template <class... K, class... V>
  void set(const Attribute<K, V>&... attributes) {
    if (!position()) return;
    std::apply(
        [&](const auto&... known) {
          detail::append_about(position(), detail::RecordKind::attributes, std::uint32_t(position()), true,
                               detail::item_of(known)...);
        },
        std::tuple(detail::resolved(attributes)...));
  }

  template <class... K, class... V>
  void add_event(Name name, const Attribute<K, V>&... attributes) {
    if (!position()) return;
    std::apply(
        [&](const auto&... known) {
          detail::append_about(position(), detail::RecordKind::event, name.id(), false, detail::item_of(known)...);
        },
        std::tuple(detail::resolved(attributes)...));
  }

  void add_link(const SpanContext& context) noexcept {
    if (position() && context) detail::add_link(position(), context);
  }

  void set_status(StatusCode code, std::string_view message = {}) noexcept {
    if (position()) detail::set_status(position(), code, message);
  }

  /// The identity of this span; none when empty.
  SpanContext context() const noexcept { return position() ? detail::context_of(position()) : SpanContext{}; }

  /// False when the group is off, telemetry is off, or there was no room.
  explicit operator bool() const noexcept { return position() != 0; }

 private:
  detail::Position position() const noexcept { return static_cast<const Derived*>(this)->position_; }
};

/// Stands for the span that was current when it was asked for: to say something of a span that somebody else holds.
class CurrentSpan : public SpanOperations<CurrentSpan> {
 private:
  friend SpanOperations<CurrentSpan>;
  friend CurrentSpan current_span() noexcept;
  CurrentSpan() noexcept : position_(detail::current_position()) {}
  detail::Position position_;
};

/// The calling thread's current span; empty outside of any, and where the current one is another process's.
inline CurrentSpan current_span() noexcept { return {}; }

/// A span that lives as long as its scope. The calling thread's current span meanwhile.
class [[nodiscard]] ScopedSpan : public SpanOperations<ScopedSpan> {
 public:
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

  LENS_INLINE ~ScopedSpan() {
    if (position_ != 0) detail::end_scope(position_, previous_, exceptions_);
  }

 private:
  friend SpanOperations<ScopedSpan>;
  template <class... K, class... V>
  friend ScopedSpan managed_span(const Group&, Name, const Attribute<K, V>&...);
  template <class... K, class... V>
  friend ScopedSpan span_cm(Name, const Attribute<K, V>&...);
  template <class... K, class... V>
  friend ScopedSpan managed_span(const Group&, Name, const SpanOptions&, const Attribute<K, V>&...);

  LENS_INLINE explicit ScopedSpan(detail::NoRecord) noexcept : position_(0) {}

  template <class... Known>
  LENS_INLINE explicit ScopedSpan(Name name, const Known&... attributes) noexcept
      : previous_(detail::thread_state.current) {
    position_ = detail::begin_scope(name.id(), exceptions_, detail::item_of(attributes)...);
  }

  template <class... Known>
  LENS_INLINE ScopedSpan(const Group& group, detail::GroupState state, Name name, const Known&... attributes) noexcept
      : previous_(detail::thread_state.current) {
    if (state == detail::GroupState::watched) [[unlikely]] {
      const Group* watched = &group;
      // As if it were another address: that of the gate need not be kept, so that the disabled path saves no register.
      asm volatile("" : "+r"(watched));
      const Begun begun =
          begin_watched(*watched, name.id(), detail::iteration_of(attributes...), detail::item_of(attributes)...);
      position_ = begun.position;
      exceptions_ = begun.exceptions;
    } else {
      position_ = detail::begin_scope(name.id(), exceptions_, detail::item_of(attributes)...);
    }
  }

  template <class... Known>
  ScopedSpan(const Group& group, detail::GroupState state, Name name, const SpanOptions& options,
             const Known&... attributes) noexcept
      : previous_(detail::thread_state.current) {
    const std::tuple items{detail::item_of(attributes)...};
    position_ = detail::begin_scope_with(name, options, detail::ItemsView(items), exceptions_);
    if (state == detail::GroupState::watched)
      detail::enter_watched(group, position_, detail::iteration_of(attributes...));
  }

  struct Begun {
    detail::Position position;
    unsigned exceptions;
  };
  // Out of line and all by value: else the enabled path, or even the disabled one, had to put its values into memory.
  template <class... Items>
  [[gnu::noinline, gnu::cold]] static Begun begin_watched(const Group& group, std::uint32_t name,
                                                          std::optional<std::int64_t> iteration,
                                                          Items... items) noexcept {
    Begun begun{};
    begun.position = detail::begin_scope(name, begun.exceptions, items...);
    detail::enter_watched(group, begun.position, iteration);
    return begun;
  }

  detail::Position position_;
  detail::Position previous_;
  unsigned exceptions_;
};

/// A scoped span behind a group: nests by thread, and records the exception when left by one.
template <class... K, class... V>
LENS_INLINE ScopedSpan managed_span(const Group& group, Name name, const Attribute<K, V>&... attributes) {
  const detail::GroupState state = group.state();
  if (state == detail::GroupState::off) [[likely]]
    return ScopedSpan(detail::no_record);
  return ScopedSpan(group, state, name, detail::resolved(attributes)...);
}

/// The same with a kind, links, a parent of another thread or process, or a trace of its own.
template <class... K, class... V>
ScopedSpan managed_span(const Group& group, Name name, const SpanOptions& options,
                        const Attribute<K, V>&... attributes) {
  const detail::GroupState state = group.state();
  if (state == detail::GroupState::off) return ScopedSpan(detail::no_record);
  return ScopedSpan(group, state, name, options, detail::resolved(attributes)...);
}

/// A scoped span without a group; recorded whenever telemetry is on.
template <class... K, class... V>
LENS_INLINE ScopedSpan span_cm(Name name, const Attribute<K, V>&... attributes) {
  if (!detail::recording.load(std::memory_order_relaxed)) [[likely]]
    return ScopedSpan(detail::no_record);
  return ScopedSpan(name, detail::resolved(attributes)...);
}

/// What trace_fn makes of a callable. It can be called as const when the callable can.
template <class Callable>
class Traced {
 public:
  Traced(const Group& group, Name name, Callable callable)
      : group_(&group), name_(name.lasting()), callable_(std::move(callable)) {}

  template <class... Arguments>
  std::invoke_result_t<Callable&, Arguments...> operator()(Arguments&&... arguments) {
    auto span = managed_span(*group_, name_);
    return std::invoke(callable_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  std::invoke_result_t<const Callable&, Arguments...> operator()(Arguments&&... arguments) const {
    auto span = managed_span(*group_, name_);
    return std::invoke(callable_, std::forward<Arguments>(arguments)...);
  }

 private:
  const Group* group_;
  Name name_;
  Callable callable_;
};

/// Wraps a callable: each call is a span, if the group is on at that call. Same signature, same exceptions.
template <class Callable>
auto trace_fn(const Group& group, Name name, Callable callable) {
  return Traced<Callable>(group, name, std::move(callable));
}

}  // namespace lens
