// SPDX-License-Identifier: Apache-2.0
// Makes spans of records: finds each end its begin and each span its parent. The pipeline thread feeds it from its own
// rings; `lens top` and `lens recover` feed it from those of another process, alive or dead.
//
// Threads:   one at a time.
// Ownership: borrows the ring's bytes until the cycle ends, and the sink for the call.
// Errors:    std::bad_alloc only. Records that make no sense are counted and skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lens/context.h"
#include "src/assemble/open_span.h"
#include "src/assemble/time_line.h"
#include "src/base/buffer.h"
#include "src/model/sampler.h"
#include "src/otlp/span_encoder.h"

namespace lens::assemble {

/// Takes each span that has ended. What the record points to lives for the call.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void on_span(const otlp::SpanRecord& span) = 0;
};

class Assembler {
 public:
  /// `started_in` is the parent of spans that have no other, if it is valid. `sampler` decides the `sampled` flag of
  /// what it makes; it drops nothing.
  Assembler(const model::IdentityKeys& keys, const TimeLine& time, const SpanContext& started_in = {},
            const model::TraceSampler& sampler = {})
      : keys_(keys), time_(time), started_in_(started_in), sampler_(sampler) {}
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  /// A cycle reads every ring once, in any order; `now` is later than all that it reads.
  void begin_cycle(const ClockReading& now) { time_.advance(now); }
  /// The records of one ring from position `from` on.
  void take(detail::Position from, std::span<const std::byte> records, SpanSink& sink);
  /// Records that any thread may have written (about a span of another ring, or one that is no scope) are applied one
  /// cycle late and in the order of their time, when all that happened before them has been read; then what is still
  /// open is copied from the rings, whose room may be given back.
  void end_cycle(SpanSink& sink);

  /// Rings whose open spans were changed by records of other rings since the last call.
  std::vector<detail::Position> take_touched() { return std::exchange(touched_, {}); }

  /// What one ring's readers need besides its undrained records to know what is open: a list of OpenEntry, each with
  /// its records behind it. Whole entries only, outermost first; `room` bytes at most. Between cycles.
  /// False when something found no room.
  bool save_open(detail::Position ring, std::size_t room, base::Buffer& entries) const;
  /// The reverse, into an assembler that has seen nothing of the ring. Stops at the first entry that makes no sense.
  void restore_open(detail::Position ring, std::span<const std::byte> entries);
  /// Whether records wait for the next cycle.
  bool has_waiting() const noexcept { return !elsewhere_.empty(); }
  /// Visits what is open: each ring's scopes, outermost first, then spans that are no scopes.
  void for_each_open(const std::function<void(const OpenSpan&)>& visit) const;

  /// Ends all that is open, innermost first, marked truncated for `reason`.
  void truncate_open(std::uint64_t ticks, std::string_view reason, SpanSink& sink);

  std::uint64_t malformed_count() const noexcept { return malformed_count_; }
  const TimeLine& time() const noexcept { return time_; }

 private:
  // The scopes of one ring's present owner, outermost first. Entries past `depth` keep their memory for reuse.
  struct Thread {
    std::vector<OpenSpan> scopes;
    std::size_t depth = 0;
  };
  // A record that waits: of another ring than its span, or of a span that is no scope.
  struct Elsewhere {
    std::uint64_t ticks;
    detail::Position ring;
    detail::Position target;
    std::size_t offset;  // in `elsewhere_records_`
    bool aged = false;   // one cycle old
  };

  void take_one(Thread& thread, detail::Position position, const detail::RecordHeader& header,
                std::span<const std::byte> record, SpanSink& sink);
  void begin(Thread& thread, detail::Position position, const detail::RecordHeader& header,
             std::span<const std::byte> items);
  void describe(OpenSpan& span, detail::Position position, const detail::RecordHeader& header,
                std::span<const std::byte> items, const OpenSpan* enclosing);
  void end(Thread& thread, OpenSpan* span, const detail::RecordHeader& header, std::span<const std::byte> items,
           SpanSink& sink);
  void finish(OpenSpan& span, std::int64_t end_monotonic_ns, std::span<const std::byte> items, SpanSink& sink);
  void orphan_scopes(Thread& thread);
  void apply_elsewhere(detail::Position target, std::span<const std::byte> record, SpanSink& sink);
  void apply_aged(SpanSink& sink);
  void defer(detail::Position ring, detail::Position target, std::span<const std::byte> record, bool aged = false);
  void restore_started(OpenSpan&& span);
  Thread& thread_of(detail::Position position);
  bool is_scope(const Thread& thread, const OpenSpan* span) const noexcept;
  /// The open span that began at `reference` (the lower half of its position) in the ring of `position`, `thread`'s.
  OpenSpan* find(Thread& thread, detail::Position position, std::uint32_t reference);

  /// Whether the id is of a span of this process.
  bool is_own(std::uint64_t span) const noexcept;

  model::IdentityKeys keys_;
  TimeLine time_;
  SpanContext started_in_;
  model::TraceSampler sampler_;
  std::unordered_map<std::uint32_t, Thread> threads_;    // by ring
  std::unordered_map<std::uint64_t, OpenSpan> started_;  // no scopes, or scopes of threads that are gone; by `key_of`
  std::vector<Elsewhere> elsewhere_;
  base::Buffer elsewhere_records_;
  std::vector<detail::Position> touched_;
  std::uint64_t malformed_count_ = 0;
};

}  // namespace lens::assemble
