// SPDX-License-Identifier: Apache-2.0
// Spans across ranks: send a step's context to the other stages, link to it or join its trace.
// Include it where ranks exchange messages; lens/c10d.h and lens/mpi.h adapt the communicators that people have.
//
// Threads:   the carrier is one per process, set and read from any thread; the rest is the caller's thread only.
// Errors:    what the communicator throws, passes. A rank without a context sends "none", which reads as none.
// Cost:      one broadcast of SpanContext::wire_bytes bytes.
#pragma once

#include <concepts>
#include <span>

#include "lens/span.h"

namespace lens {

/// Anything that can send the same few bytes from one of its ranks to all others.
template <class T>
concept Communicator = requires(T& communicator, std::span<std::byte> bytes, int source) {
  communicator.broadcast(bytes, source);
};

/// Gives every rank of the communicator the current context of `source` (a rank of the communicator). Call it on all
/// of them, inside the step's span, gated on nothing or on what is equal on all ranks: it is one collective of fixed
/// size, so that no rank can be left waiting in a second one. Choose as source a rank that exports.
template <Communicator C>
SpanContext broadcast_trace_context(C& communicator, int source = 0) {
  auto bytes = current_context().to_bytes();
  communicator.broadcast(std::span<std::byte>(bytes), source);
  return SpanContext::from_bytes(bytes);
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
