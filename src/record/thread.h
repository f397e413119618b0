// SPDX-License-Identifier: Apache-2.0
// What the slow paths of a recording thread share: its ring, and the scopes that do not simply nest.
#pragma once

#include <cstdint>
#include <vector>

#include "lens/context.h"
#include "src/record/layout.h"

namespace lens::record {

/// A scope that changed the trace, and what to go back to when it ends.
struct TraceChange {
  detail::Position position;
  detail::TraceState before;
  SpanContext activated;  // the span that an activation stands for; none when the scope is a span of its own
};

/// A scope that ended while a younger one was still open.
struct EndedEarly {
  detail::Position position;
  detail::Position previous;
};

/// What a thread needs besides detail::ThreadState. Allocated with its ring.
struct ThreadBlock {
  std::uint32_t ring_number = 0;
  RingHeader* ring = nullptr;
  detail::Position seen_tail = 0;
  std::uint64_t seen_returned = 0;
  std::uint64_t kept_for_ends = 0;  // beyond ThreadState::limit: for ends of spans that are no scopes, or not of here
  std::vector<TraceChange> changes;
  std::vector<EndedEarly> ended_early;
};

/// Null before the thread's first span.
extern thread_local constinit ThreadBlock* thread_block;

/// Drops the calling thread's ring without returning it: in a forked child, where the ring is the parent's.
void forget_thread() noexcept;

}  // namespace lens::record
