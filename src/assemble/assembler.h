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
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lens/context.h"
#include "src/assemble/open_span.h"
#include "src/assemble/started_spans.h"
#include "src/assemble/time_line.h"
#include "src/base/buffer.h"
#include "src/model/sampler.h"
#include "src/otlp/log_encoder.h"
#include "src/otlp/span_encoder.h"

namespace lens::assemble {

/// Takes each span that has ended, and log records as they come. What a record points to lives for the call.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void on_span(const otlp::SpanRecord& span) = 0;
  virtual void on_log(const otlp::LogRecord&) {}
};

/// A list of what is open, where it has been written to.
struct SavedOpen {
  std::size_t bytes = 0;
  bool complete = true;  // everything found room; a span whose attributes found none says so of itself
};

class Assembler {
 public:
  /// `started_in` is the parent of spans that have no other, if it is valid. `sampler` decides the `sampled` flag of
  /// what it makes; it drops nothing.
  Assembler(const model::IdentityKeys& keys, const TimeLine& time, const SpanContext& started_in = {},
            const model::TraceSampler& sampler = {})
      : keys_(keys), time_(time), started_in_(started_in), has_started_in_(started_in), sampler_(sampler) {}
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  /// From now on what is open takes so many bytes at most. Then spans that begin are dropped, and what spans are told
  /// is lost; both are counted. `limits` are the encoder's: a span that is told more of a kind while it is open need
  /// not keep it.
  void bound_open(std::size_t bytes, const otlp::Limits& limits) noexcept {
    most_open_bytes_ = bytes;
    limits_ = limits;
  }

  /// Before a cycle in which anything of a new ring is read: a parent of that ring is one of this process.
  void add_ring(detail::Position position) { thread_of(position); }
  /// A cycle reads every ring once, in any order; `now` is later than all that it reads.
  void begin_cycle(const ClockReading& now) { time_.advance(now); }
  /// The records of one ring from position `from` on.
  void take(detail::Position from, std::span<const std::byte> records, SpanSink& sink);
  /// Records that any thread may have written (about a span of another ring, or one that is no scope) are applied one
  /// cycle late and in the order of their time, when all that happened before them has been read; then what is still
  /// open is copied from the rings, whose room may be given back.
  void end_cycle(SpanSink& sink);

  /// Rings of which something else is open, or waits, than at the last call.
  std::vector<detail::Position> take_changed() { return std::exchange(changed_, {}); }

  /// What one ring's readers need besides its undrained records to know what is open: a list of OpenEntry, each with
  /// its records behind it. Whole entries only, outermost first, as many as find room. Between cycles.
  SavedOpen save_open(detail::Position ring, std::span<std::byte> room) const;
  /// How long that list is in a room of so many bytes.
  std::size_t open_list_bytes(detail::Position ring, std::size_t room) const;
  /// The reverse, into an assembler that has seen nothing of the ring. Stops at the first entry that makes no sense.
  void restore_open(detail::Position ring, std::span<const std::byte> entries);
  /// Whether records wait for the next cycle.
  bool has_waiting() const noexcept { return !elsewhere_.empty(); }
  /// Visits what is open: each ring's scopes, outermost first, then spans that are no scopes.
  void for_each_open(const std::function<void(const OpenSpan&)>& visit) const;

  /// Ends all that is open, innermost first, marked truncated for `reason`.
  void truncate_open(std::uint64_t ticks, std::string_view reason, SpanSink& sink);

  std::uint64_t malformed_count() const noexcept { return malformed_count_; }
  /// Spans for which there was no room among those that are open.
  std::uint64_t dropped_count() const noexcept { return dropped_count_; }
  /// What was told of open spans and found no room.
  std::uint64_t lost_records() const noexcept { return lost_records_; }
  /// What open spans take of memory.
  std::size_t open_bytes() const noexcept { return open_bytes_; }
  const TimeLine& time() const noexcept { return time_; }

 private:
  // The scopes of one ring's present owner, outermost first; entries past `depth` are free. And the ring's open spans
  // that are no scopes, or scopes of threads that are gone.
  struct Thread {
    std::vector<OpenSpan> scopes;
    std::size_t depth = 0;
    StartedSpans started;
    detail::Position taken_from = 0;  // in this cycle
    bool is_changed = false;          // in this cycle, by the ring's own records: something else is open than before
  };
  // A record that waits: of another ring than its span, or of a span that is no scope.
  struct Elsewhere {
    std::uint64_t ticks;
    detail::Position ring;
    detail::Position target;
    std::size_t offset;  // in `elsewhere_records_`
    bool aged = false;   // one cycle old
  };

  SavedOpen list_open(detail::Position ring, std::byte* to, std::size_t room) const;
  void take_one(Thread& thread, detail::Position position, const detail::RecordHeader& header,
                std::span<const std::byte> record, SpanSink& sink);
  void begin(Thread& thread, detail::Position position, const detail::RecordHeader& header,
             std::span<const std::byte> items);
  void start(Thread& thread, detail::Position position, const detail::RecordHeader& header,
             std::span<const std::byte> items);
  void describe(OpenSpan& span, detail::Position position, const detail::RecordHeader& header,
                std::span<const std::byte> items, const OpenSpan* enclosing);
  void end(Thread& thread, OpenSpan* span, const detail::RecordHeader& header, std::span<const std::byte> items,
           SpanSink& sink);
  void finish(OpenSpan& span, std::int64_t end_monotonic_ns, std::span<const std::byte> items, SpanSink& sink);
  void log(const Thread& thread, const detail::RecordHeader& header, std::span<const std::byte> items,
           SpanSink& sink) const;
  void orphan_scopes(Thread& thread);
  /// What a record says of an open span, but for its end.
  void tell(Thread& thread, OpenSpan& span, detail::RecordKind kind, std::span<const std::byte> record);
  void compact_records_of(OpenSpan& span);
  std::size_t room() const noexcept { return open_bytes_ < most_open_bytes_ ? most_open_bytes_ - open_bytes_ : 0; }
  static std::size_t growth_of_scopes(const Thread& thread) noexcept;
  std::size_t room_for_records() const noexcept;
  void add_places_for_scopes(Thread& thread);
  void shrink_scopes(Thread& thread);
  OpenSpan& add_started(Thread& thread, detail::Position position);
  void erase_started(Thread& thread, OpenSpan& span);
  void keep(OpenSpan& span);
  void keep_new(Thread& thread);
  void forget_records_of(OpenSpan& span) noexcept {
    if (span.own_bytes() == 0) return;
    open_bytes_ -= span.own_bytes();
    span.forget_records();
  }
  void apply_elsewhere(detail::Position target, std::span<const std::byte> record, SpanSink& sink);
  void apply_aged(SpanSink& sink);
  void defer(detail::Position ring, detail::Position target, std::span<const std::byte> record, bool aged = false);
  Thread& thread_of(detail::Position position);
  Thread* find_thread(detail::Position position);
  bool is_scope(const Thread& thread, const OpenSpan* span) const noexcept;
  /// The open span that began at `position`, `thread`'s or no scope.
  OpenSpan* find(Thread& thread, detail::Position position);
  OpenSpan* find_far_scope(Thread& thread, std::uint32_t half);

  /// Whether the id is of a span of this process.
  bool is_own(std::uint64_t span) const noexcept;

  model::IdentityKeys keys_;
  TimeLine time_;
  SpanContext started_in_;
  bool has_started_in_;  // asked for each root
  model::TraceSampler sampler_;
  std::unordered_map<std::uint32_t, Thread> threads_;  // by ring
  std::vector<Thread*> taken_;                         // in this cycle
  std::size_t open_bytes_ = 0;
  std::size_t most_open_bytes_ = std::numeric_limits<std::size_t>::max();
  otlp::Limits limits_;
  base::Buffer compacted_;
  struct {
    detail::Position position = 0;
    std::size_t bytes = 0;
  } as_short_as_can_be_;  // what a span was last told, as `compact` left it
  std::vector<Elsewhere> elsewhere_;
  base::Buffer elsewhere_records_;
  std::vector<detail::Position> changed_;
  std::uint64_t malformed_count_ = 0;
  std::uint64_t dropped_count_ = 0;
  std::uint64_t lost_records_ = 0;
};

}  // namespace lens::assemble
