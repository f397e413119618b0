// SPDX-License-Identifier: Apache-2.0
// A process that records as a trainer does and keeps a ledger, in memory that survives it, of what it has recorded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tests/kill/child.h"

namespace lens::tests {

/// Spans with one name of one thread, numbered from 0. Each count is raised after the fact, so a span below `ended` has
/// ended, and one below `begun` has begun.
struct Lane {
  std::atomic<std::uint64_t> begun, ended;
};

struct Ledger {
  static constexpr int thread_count = 3;
  std::array<Lane, thread_count> steps, inner;
  Lane requests;                                          // begun by one thread, ended by another
  std::atomic<std::int64_t> job_after_ns, job_before_ns;  // the job span began in between
  std::atomic<bool> stop;                                 // asks for an orderly end
};

/// What `work` does, for ever or until it is asked to stop; with pauses it records some 100,000 spans a second.
void work(Ledger& ledger, const Config& config, bool pauses);

/// Holds a trace against the ledger: what had ended is there once and whole, what was open is there once and marked,
/// ids are unique, parents are there.
void expect_all_recorded(const Ledger& ledger, const RecordedTrace& trace);

}  // namespace lens::tests
