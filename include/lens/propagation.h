// SPDX-License-Identifier: Apache-2.0
// Spans across ranks: send a step's context to the other stages, link to it or join its trace.
// Include it where ranks exchange messages; lens/c10d.h and lens/mpi.h adapt the communicators that people have.
//
// Threads:   the carrier is one per process, set and read from any thread; the rest is the caller's thread only.
// Errors:    what the communicator throws, passes. A rank without a context sends "none", which reads as none.
// Cost:      one broadcast of 40 bytes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lens/span.h"

namespace lens {

/// Anything that can send the same few bytes from one of its ranks to all others.
template <class T>
concept Communicator = requires(T& communicator, std::span<std::byte> bytes, int source) {
  communicator.broadcast(bytes, source);
};

/// Of a communicator, what it was given back: `broadcast` begins with `if (take(bytes, source)) return;`. Derive from
/// it where a source may skip rounds, so that its message of a later round is there when that round is asked for.
class PutBack {
 public:
  void put_back(std::span<const std::byte> bytes, int source) { messages_[source].assign(bytes.begin(), bytes.end()); }

 protected:
  /// Whether there was one from this source.
  bool take(std::span<std::byte> bytes, int source) {
    const auto found = messages_.find(source);
    if (found == messages_.end() || found->second.size() != bytes.size()) return false;
    std::memcpy(bytes.data(), found->second.data(), bytes.size());
    messages_.erase(found);
    return true;
  }

 private:
  std::map<int, std::vector<std::byte>> messages_;  // by source
};

namespace detail {

/// Tells the operator, once, of a source that has no span: it does not export, or called outside of any.
LENS_API void note_source_without_context(int source) noexcept;

/// A context and the round that it belongs to, as this machine writes a number: the ranks of a job are of one kind.
struct ContextMessage {
  ContextMessage(const SpanContext& context, std::int64_t round) noexcept {
    const auto encoded = context.to_bytes();
    std::memcpy(bytes.data(), encoded.data(), encoded.size());
    std::memcpy(bytes.data() + encoded.size(), &round, sizeof round);
  }
  SpanContext context() const noexcept {
    return SpanContext::from_bytes(std::span(bytes).first<SpanContext::wire_bytes>());
  }
  std::int64_t round() const noexcept {
    std::int64_t round;
    std::memcpy(&round, bytes.data() + SpanContext::wire_bytes, sizeof round);
    return round;
  }
  std::array<std::byte, SpanContext::wire_bytes + sizeof(std::int64_t)> bytes;
};

}  // namespace detail

/// Gives every rank of the communicator the current context of `source` (a rank of the communicator). Call it on all
/// of them, inside the step's span, gated on nothing or on what is equal on all ranks: it is one collective of fixed
/// size, so that no rank can be left waiting in a second one. Choose as source a rank that exports; with a negative
/// one, which says that there is none, it gives no context and sends nothing.
///
/// Where a rank may leave a step before this and go on with a later one, pass the number of the step as `round`: such
/// a rank passes over what was sent in the rounds that it skipped, instead of being behind for ever. Throws
/// std::runtime_error where it is the source that skipped this rank's round; a communicator with `put_back` (both
/// adapters, and what derives from `PutBack`) then has the source's message for the round that it is of.
template <Communicator C>
SpanContext broadcast_trace_context(C& communicator, int source = 0, std::int64_t round = 0) {
  if (source < 0) return {};
  detail::ContextMessage message(current_context(), round);
  do communicator.broadcast(std::span<std::byte>(message.bytes), source);
  while (message.round() < round);
  if (message.round() > round) {
    if constexpr (requires { communicator.put_back(message.bytes, source); })
      communicator.put_back(message.bytes, source);
    throw std::runtime_error("rank " + std::to_string(source) + " is at round " + std::to_string(message.round()) +
                             " of the broadcast of trace contexts, this rank at round " + std::to_string(round));
  }
  const SpanContext context = message.context();
  if (!context) detail::note_source_without_context(source);
  return context;
}

/// The first of the communicator's `size` ranks that exports, to be the source of contexts: the context of one that
/// does not is empty, and the default strategy exports the job's last rank only. -1 when none does. Call it on all of
/// them, once, where the job starts: `size` collectives of one byte.
template <Communicator C>
int find_exporting_rank(C& communicator, int size, bool exporting) {
  int first = -1;
  for (int rank = size - 1; rank >= 0; --rank) {
    std::byte answer{exporting};
    communicator.broadcast(std::span<std::byte>(&answer, 1), rank);
    if (answer != std::byte{}) first = rank;
  }
  return first;
}

/// A child of the current span, in this rank's own trace, with one link to the sender's span.
template <class... K, class... V>
ScopedSpan create_linked_span(const Group& group, Name name, const SpanContext& sender,
                              const Attribute<K, V>&... attributes) {
  SpanOptions options;
  if (sender) options.links.push_back(sender);
  return managed_span(group, name, options, attributes...);
}

/// A child of the sender's span: it joins the sender's trace. Without a context, a child of the current span.
template <class... K, class... V>
ScopedSpan adopt_span(const Group& group, Name name, const SpanContext& sender, const Attribute<K, V>&... attributes) {
  SpanOptions options;
  options.parent = sender;
  return managed_span(group, name, options, attributes...);
}

/// Keeps the context that a step received, for the schedule that runs deep below it.
LENS_API void set_pp_trace_carrier(const SpanContext& context) noexcept;
LENS_API SpanContext get_pp_trace_carrier() noexcept;

}  // namespace lens
