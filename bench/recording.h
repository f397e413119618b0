// SPDX-License-Identifier: Apache-2.0
// Recording without a pipeline, for benchmarks that give the rings back by hand.
#pragma once

#include <string>

#include "src/model/group_registry.h"
#include "src/record/recorder.h"

namespace lens::bench {

/// Turns the group of bench/sites.cc on. False: no memory for rings.
inline bool start_recording() {
  static const bool started = [] {
    std::string problem;
    const bool ok = record::Recorder::instance().start({.run_id = "bench"}, problem);
    detail::GroupRegistry::instance().open(GroupSet::of({"bench_on"}));
    return ok;
  }();
  return started;
}

/// The calling thread's ring; only after its first span.
inline record::RingHeader& own_ring() { return *reinterpret_cast<record::RingHeader*>(detail::thread_state.head); }

/// As if all of it had been drained.
inline void give_ring_back() {
  if (detail::thread_state.ring)
    own_ring().tail.store(own_ring().head.position.load(std::memory_order_relaxed), std::memory_order_release);
}

}  // namespace lens::bench
