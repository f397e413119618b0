// SPDX-License-Identifier: Apache-2.0
// Makes spans of records: finds each end its begin, each span its parent, and encodes what has ended. The pipeline
// thread feeds it from its own rings; `lens recover` feeds it from those of a dead process.
//
// Threads:   one at a time.
// Ownership: borrows the ring's bytes until the cycle ends.
// Errors:    std::bad_alloc only. Records that make no sense are counted and skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/assemble/open_span.h"
#include "src/assemble/time_line.h"
#include "src/base/buffer.h"
#include "src/otlp/span_encoder.h"

namespace lens::assemble {

class Assembler {
 public:
  struct Options {
    model::IdentityKeys keys;
    otlp::SpanEncoder::NameSource names;
    otlp::Limits limits;
    std::vector<std::string> redacted_keys;
  };

  Assembler(Options options, const TimeLine& time);
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  /// A cycle reads every ring once, in any order; `now` is later than all that it reads.
  void begin_cycle(const ClockReading& now) { time_.advance(now); }
  /// The records of one ring from position `from` on. Spans that end are appended to `out`.
  void take(detail::Position from, std::span<const std::byte> records, base::Buffer& out);
  /// Ends and additions that came from other threads are applied one cycle late, when all that happened before them
  /// has been read; then what is still open is copied from the rings, whose room may be given back.
  void end_cycle(base::Buffer& out);

  /// Ends all that is open, innermost first, marked truncated for `reason`.
  void truncate_open(std::uint64_t ticks, std::string_view reason, base::Buffer& out);

  std::uint64_t ended_count() const noexcept { return ended_count_; }
  std::uint64_t truncated_count() const noexcept { return truncated_count_; }
  std::uint64_t malformed_count() const noexcept { return malformed_count_; }
  const TimeLine& time() const noexcept { return time_; }

 private:
  // The scopes of one ring's present owner, outermost first. Entries past `depth` keep their memory for reuse.
  struct Thread {
    std::vector<OpenSpan> scopes;
    std::size_t depth = 0;
  };
  // A record about a span of another ring.
  struct Elsewhere {
    detail::Position target;
    std::size_t offset;  // in `elsewhere_records_`
    bool aged = false;   // one cycle old
  };

  void take_one(detail::Position position, const detail::RecordHeader& header, std::span<const std::byte> items,
                std::span<const std::byte> record, base::Buffer& out);
  void begin(detail::Position position, const detail::RecordHeader& header, std::span<const std::byte> items);
  void describe(OpenSpan& span, detail::Position position, const detail::RecordHeader& header,
                std::span<const std::byte> items, const OpenSpan* enclosing);
  void end(OpenSpan* span, const detail::RecordHeader& header, std::span<const std::byte> items, base::Buffer& out);
  void finish(OpenSpan& span, std::int64_t end_monotonic_ns, std::span<const std::byte> items, base::Buffer& out);
  void orphan_scopes(Thread& thread);
  void apply_elsewhere(detail::Position target, std::span<const std::byte> record, base::Buffer& out);
  Thread& thread_of(detail::Position position);
  /// The open span that began at `reference` (the lower half of its position) in the ring of `position`.
  OpenSpan* find(detail::Position position, std::uint32_t reference);

  model::IdentityKeys keys_;
  TimeLine time_;
  otlp::SpanEncoder encoder_;
  std::unordered_map<std::uint32_t, Thread> threads_;    // by ring
  std::unordered_map<std::uint64_t, OpenSpan> started_;  // no scopes, or scopes of threads that are gone; by `key_of`
  std::vector<Elsewhere> elsewhere_;
  base::Buffer elsewhere_records_;
  std::uint64_t ended_count_ = 0;
  std::uint64_t truncated_count_ = 0;
  std::uint64_t malformed_count_ = 0;
};

}  // namespace lens::assemble
