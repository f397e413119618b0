// SPDX-License-Identifier: Apache-2.0
// A span that is not a scope: it crosses functions and threads, and is ended by hand.
// Include it for requests, futures and coroutines, for spans that were over before telemetry was set up, and to carry
// the current span to another thread.
//
// Threads:   a handle may move between threads; one thread uses it at a time.
// Ownership: the handle owns the span: destroying it ends the span.
// Errors:    none; as in span.h.
#pragma once

#include "lens/span.h"

namespace lens {

namespace detail {

struct StartedSpan {
  Position position = 0;
  SpanContext context;
};
LENS_API StartedSpan start_span(Name name, const SpanOptions& options, const ItemsView& attributes) noexcept;
LENS_API void end_span(Position position, std::optional<SystemTime> at) noexcept;

/// What to restore when an activation ends.
struct Activated {
  Position position = 0;
  Position previous = 0;
};
LENS_API Activated activate(const SpanContext& context) noexcept;
LENS_API void deactivate(const Activated& activated) noexcept;

}  // namespace detail

/// While it lives, the calling thread's current span is the one it was made from.
class [[nodiscard]] ActiveScope {
 public:
  /// An invalid context changes nothing.
  explicit ActiveScope(const SpanContext& context) noexcept
      : activated_(context ? detail::activate(context) : detail::Activated{}) {}
  ~ActiveScope() {
    if (activated_.position) detail::deactivate(activated_);
  }
  ActiveScope(const ActiveScope&) = delete;
  ActiveScope& operator=(const ActiveScope&) = delete;

 private:
  detail::Activated activated_;
};

/// A span with an explicit end. Not current anywhere until it is activated.
class [[nodiscard]] SpanHandle : public SpanOperations<SpanHandle> {
 public:
  /// Empty: every operation does nothing.
  SpanHandle() = default;
  SpanHandle(SpanHandle&& other) noexcept
      : span_(std::exchange(other.span_, {})), position_(std::exchange(other.position_, 0)) {}
  SpanHandle& operator=(SpanHandle&& other) noexcept {
    if (this != &other) {
      end();
      span_ = std::exchange(other.span_, {});
      position_ = std::exchange(other.position_, 0);
    }
    return *this;
  }
  ~SpanHandle() { end(); }

  /// Ends the span, now or at a given time; the handle is empty afterwards.
  void end(std::optional<SystemTime> at = {}) noexcept {
    if (position_) detail::end_span(std::exchange(position_, 0), at);
  }

  SpanContext context() const noexcept { return position_ ? span_ : SpanContext{}; }

  /// Makes it the calling thread's current span while the result lives. It does not end the span.
  ActiveScope activate() const noexcept { return ActiveScope(context()); }

 private:
  friend SpanOperations<SpanHandle>;
  template <class... K, class... V>
  friend SpanHandle start_span(const Group&, Name, const SpanOptions&, const Attribute<K, V>&...);

  template <class... Known>
  SpanHandle(const Group& group, detail::GroupState state, Name name, const SpanOptions& options,
             const Known&... attributes) noexcept {
    const std::tuple items{detail::item_of(attributes)...};
    const detail::StartedSpan started = detail::start_span(name, options, detail::ItemsView(items));
    span_ = started.context;
    position_ = started.position;
    if (state == detail::GroupState::watched &&
        !detail::keeps_watched(group, position_, options, detail::iteration_of(attributes...)))
      span_.flags &= static_cast<std::uint8_t>(~SpanContext::sampled);
  }

  SpanContext span_;
  detail::Position position_ = 0;
};

/// Starts a span behind a group: a child of the calling thread's current span unless the options say otherwise.
template <class... K, class... V>
SpanHandle start_span(const Group& group, Name name, const SpanOptions& options, const Attribute<K, V>&... attributes) {
  const detail::GroupState state = group.state();
  if (state == detail::GroupState::off) return {};
  return std::apply([&](const auto&... known) { return SpanHandle(group, state, name, options, known...); },
                    std::tuple(detail::resolved(attributes)...));
}

inline SpanHandle start_span(const Group& group, Name name) { return start_span(group, name, SpanOptions{}); }

/// Records a span that is over: a phase that ended before telemetry was set up, or that something else timed.
/// An end before the start is clamped to zero length and marked.
template <class... K, class... V>
void record_span(const Group& group, Name name, SystemTime began, SystemTime ended,
                 const Attribute<K, V>&... attributes) {
  SpanOptions options;
  options.start = began;
  start_span(group, name, options, attributes...).end(ended);
}

/// A callable to be run on another thread, where its spans nest under the span that is current here and now.
template <class Callable>
auto with_current_context(Callable callable) {
  return [context = current_context(), callable = std::move(callable)]<class... Arguments>(
             Arguments&&... arguments) mutable -> std::invoke_result_t<Callable&, Arguments...> {
    ActiveScope scope(context);
    return std::invoke(callable, std::forward<Arguments>(arguments)...);
  };
}

}  // namespace lens
