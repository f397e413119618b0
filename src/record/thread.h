// SPDX-License-Identifier: Apache-2.0
// What the slow paths of a recording thread share: its ring, and the scopes that do not simply nest.
#pragma once

#include <cstdint>
#include <vector>

#include "lens/context.h"
#include "src/record/recorder.h"

namespace lens::record {

/// A scope that changed the trace, and what to go back to when it ends.
struct TraceChange {
  detail::Position position;
  detail::TraceState before;
  SpanContext activated;  // the span that an activation stands for; none when the scope is a span of its own
  bool has_given_parent;  // not the scope around it: an activation, or a span whose options name one
};

/// What a thread needs besides detail::ThreadState. Allocated with its ring.
struct ThreadBlock {
  std::uint32_t ring_number = 0;
  RingHeader* ring = nullptr;
  detail::Position seen_tail = 0;
  std::uint64_t seen_returned = 0;
  std::uint64_t kept_for_ends = 0;  // beyond ThreadState::limit: for ends of spans that are no scopes, or not of here
  std::uint64_t seen_ends = 0;      // of this ring's scopes on other threads
  detail::Position incomplete = 0;  // the last span that was told that something about it was lost
  std::vector<TraceChange> changes;
  std::vector<EndedEarly> ended_early;
  detail::Position step = 0;  // the outermost step that is open, where steps are sampled
};

/// Null before the thread's first span.
extern thread_local constinit ThreadBlock* thread_block;

/// Finds room for a record that is no span's begin; `kept_too`: in the part that is kept for ends, if need be. False:
/// the record is lost and counted.
bool make_room_for_detail(std::uint64_t bytes, bool kept_too) noexcept;

/// Whether a record of so many bytes finds no room in the calling thread's ring, were it ever so empty.
bool outgrows_ring(std::uint64_t bytes) noexcept;

/// Drops the calling thread's ring without returning it: in a forked child, where the ring is the parent's.
void forget_thread() noexcept;

}  // namespace lens::record
