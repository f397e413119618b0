// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/assembler.h"

#include <algorithm>
#include <cstring>

#include "lens/context.h"

namespace lens::assemble {
namespace {

using namespace detail;

// What the lower half of a position means in a record: the last position before it that has this half.
Position named_by(std::uint32_t half, Position from) noexcept {
  return from - static_cast<std::uint32_t>(static_cast<std::uint32_t>(from) - half);
}

// What of a span's items says where it belongs; the rest is the encoder's.
struct Placement {
  bool has_parent = false;  // explicit; all zero: a root
  model::TraceWords trace{};
  std::uint64_t parent = 0;
  std::uint8_t flags = 0;
  bool has_time = false;
  std::int64_t unix_ns = 0;
};

std::uint64_t word_at(const std::byte* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

// These items come first, with a size of their own: reading stops at the first that is none of them.
Placement placement_of(std::span<const std::byte> items) noexcept {
  Placement placement;
  while (items.size() >= sizeof(ItemHeader) + 8) {
    ItemHeader header;
    std::memcpy(&header, items.data(), sizeof header);
    const std::byte* payload = items.data() + sizeof header;
    std::size_t bytes = 8;
    if (header.type == ItemType::parent) {
      bytes = 24;
      if (items.size() < sizeof header + bytes) break;
      placement.has_parent = true;
      placement.trace = {word_at(payload), word_at(payload + 8)};
      placement.parent = word_at(payload + 16);
      placement.flags = header.extra;
    } else if (header.type == ItemType::time) {
      placement.has_time = true;
      placement.unix_ns = static_cast<std::int64_t>(word_at(payload));
    } else if (header.type != ItemType::kind && header.type != ItemType::position) {
      break;
    }
    items = items.subspan(sizeof header + bytes);
  }
  return placement;
}

/// The end is the start and what passed in between: neither a step of the system clock nor a counter that began anew
/// makes a negative duration. Only times that the program gave can be inverted.
std::int64_t duration_until(std::int64_t end_monotonic_ns, const OpenSpan& span) noexcept {
  const std::int64_t duration_ns = wrapping_difference(end_monotonic_ns, span.start_monotonic_ns);
  return duration_ns < 0 && !placement_of(span.items()).has_time ? 0 : duration_ns;
}

otlp::SpanRecord record_of(const OpenSpan& span, std::int64_t duration_ns) {
  otlp::SpanRecord record;
  record.trace = span.trace;
  record.span = span.span;
  record.parent = span.parent;
  record.flags = span.flags;
  record.parent_is_remote = span.parent_is_remote;
  record.name = span.name;
  record.start_unix_ns = span.start_unix_ns;
  record.end_unix_ns = wrapping_sum(span.start_unix_ns, duration_ns);
  record.items = span.items();
  record.later = span.later();
  record.lost = span.lost;
  return record;
}

}  // namespace

void Assembler::take(Position from, std::span<const std::byte> records, SpanSink& sink) {
  Thread& thread = thread_of(from);
  thread.taken_from = from;
  thread.is_changed = false;
  taken_.push_back(&thread);
  while (records.size() >= sizeof(RecordHeader)) {
    RecordHeader header;
    std::memcpy(&header, records.data(), sizeof header);
    if (header.bytes() < sizeof header || header.bytes() > records.size()) break;
    take_one(thread, from, header, records.first(header.bytes()), sink);
    from += header.bytes();
    records = records.subspan(header.bytes());
  }
  if (!records.empty()) ++malformed_count_;
}

void Assembler::take_one(Thread& thread, Position position, const RecordHeader& header,
                         std::span<const std::byte> record, SpanSink& sink) {
  const auto items = record.subspan(sizeof header);
  Position target = named_by(header.reference, position);
  if (header.elsewhere()) {
    if (items.size() < sizeof(ItemHeader) + 8) {
      ++malformed_count_;
      return;
    }
    target = word_at(items.data() + sizeof(ItemHeader));
    if ((target ^ position) >> position_ring_shift != 0) return defer(position, target, record);
  }
  switch (header.kind()) {
    case RecordKind::begin:
    case RecordKind::activate: return begin(thread, position, header, items);
    case RecordKind::start: return start(thread, position, header, items);
    case RecordKind::thread: return orphan_scopes(thread);
    case RecordKind::log: return log(thread, header, items, sink);
    case RecordKind::end:
    case RecordKind::attributes:
    case RecordKind::event:
    case RecordKind::links:
    case RecordKind::status:
    case RecordKind::lost:
    case RecordKind::unsampled: {
      OpenSpan* span = find(thread, target);
      if (!span && !header.elsewhere()) span = find_far_scope(thread, header.reference);
      if (!span) return;  // ended already, or begun before recording was shut down and ended there
      if (!is_scope(thread, span)) return defer(position, span->position, record);
      if (header.kind() == RecordKind::end) return end(thread, span, header, items, sink);
      return tell(thread, *span, header.kind(), record);
    }
  }
  ++malformed_count_;
}

void Assembler::defer(Position ring, Position target, std::span<const std::byte> record, bool aged) {
  RecordHeader header;
  std::memcpy(&header, record.data(), sizeof header);
  elsewhere_.push_back({header.ticks, ring, target, elsewhere_records_.size(), aged});
  changed_.push_back(ring);
  elsewhere_records_.append(record.data(), record.size());
}

bool Assembler::is_scope(const Thread& thread, const OpenSpan* span) const noexcept {
  return span >= thread.scopes.data() && span < thread.scopes.data() + thread.depth;
}

Assembler::Thread& Assembler::thread_of(Position position) {
  return threads_[static_cast<std::uint32_t>(position >> position_ring_shift)];
}

Assembler::Thread* Assembler::find_thread(Position position) {
  const auto found = threads_.find(static_cast<std::uint32_t>(position >> position_ring_shift));
  return found == threads_.end() ? nullptr : &found->second;
}

// An activation is never dropped: what is in it would go to another trace.
void Assembler::begin(Thread& thread, Position position, const RecordHeader& header, std::span<const std::byte> items) {
  if (thread.depth == thread.scopes.size()) {
    if (room() < growth_of_scopes(thread) * sizeof(OpenSpan) && header.kind() != RecordKind::activate) {
      ++dropped_count_;
      return;
    }
    add_places_for_scopes(thread);
  }
  const OpenSpan* enclosing = thread.depth ? &thread.scopes[thread.depth - 1] : nullptr;
  describe(thread.scopes[thread.depth], position, header, items, enclosing);
  ++thread.depth;
}

void Assembler::start(Thread& thread, Position position, const RecordHeader& header, std::span<const std::byte> items) {
  if (thread.started.growth_bytes() > room()) {
    ++dropped_count_;
    return;
  }
  const OpenSpan* enclosing = thread.depth ? &thread.scopes[thread.depth - 1] : nullptr;
  describe(add_started(thread, position), position, header, items, enclosing);
}

void Assembler::describe(OpenSpan& span, Position position, const RecordHeader& header,
                         std::span<const std::byte> items, const OpenSpan* enclosing) {
  const Placement placement = items.empty() ? Placement{} : placement_of(items);
  span.position = position;
  span.name = header.reference;
  span.borrow(items);
  span.parent_is_remote = false;
  span.lost = {};
  span.is_activation = header.kind() == RecordKind::activate;
  span.is_started = header.kind() == RecordKind::start;
  span.start_monotonic_ns = time_.monotonic_ns(header.ticks);
  span.start_unix_ns = time_.unix_of(span.start_monotonic_ns);
  if (placement.has_time) {
    const std::int64_t earlier_ns = wrapping_difference(placement.unix_ns, span.start_unix_ns);
    span.start_monotonic_ns = wrapping_sum(span.start_monotonic_ns, earlier_ns);
    span.start_unix_ns = placement.unix_ns;
  }
  if (span.is_activation) {
    span.trace = placement.trace;
    span.span = placement.parent;
    span.flags = sampler_.flags_under(placement.flags, placement.trace, is_own(placement.parent));
    return;
  }
  span.span = model::span_word(position, keys_);
  if (placement.has_parent && placement.parent != 0) {
    span.trace = placement.trace;
    span.parent = placement.parent;
    span.parent_is_remote = !is_own(placement.parent);
    span.flags = sampler_.flags_under(placement.flags, placement.trace, !span.parent_is_remote);
  } else if (enclosing && !placement.has_parent) {
    span.trace = enclosing->trace;
    span.parent = enclosing->span;
    span.parent_is_remote = enclosing->is_activation && !is_own(enclosing->span);
    span.flags = enclosing->flags;
  } else if (has_started_in_ && !placement.has_parent) {
    span.trace = model::words_of(started_in_.trace_id);
    span.parent = model::word_of(started_in_.span_id);
    span.flags = sampler_.flags_under(started_in_.flags, span.trace, false);
    span.parent_is_remote = true;
  } else {
    span.trace = model::trace_words(position, keys_);
    span.parent = 0;
    span.flags = sampler_.flags_of_root(span.trace);
  }
}

bool Assembler::is_own(std::uint64_t span) const noexcept {
  return threads_.contains(static_cast<std::uint32_t>(model::position_of(span, keys_) >> position_ring_shift));
}

OpenSpan* Assembler::find(Thread& thread, Position position) {
  for (std::size_t i = thread.depth; i-- > 0;)
    if (thread.scopes[i].position == position) return &thread.scopes[i];
  return thread.started.find(position);
}

// A scope's end has only room for half a position when the ring is full, however far the begin is.
OpenSpan* Assembler::find_far_scope(Thread& thread, std::uint32_t half) {
  for (std::size_t i = thread.depth; i-- > 0;)
    if (static_cast<std::uint32_t>(thread.scopes[i].position) == half) return &thread.scopes[i];
  return nullptr;
}

void Assembler::end(Thread& thread, OpenSpan* span, const RecordHeader& header, std::span<const std::byte> items,
                    SpanSink& sink) {
  thread.is_changed |= span->position < thread.taken_from;
  finish(*span, time_.monotonic_ns(header.ticks), items, sink);
  for (std::size_t i = thread.depth; i-- > 0;) {
    if (&thread.scopes[i] != span) continue;
    forget_records_of(*span);
    const auto first = thread.scopes.begin() + std::ptrdiff_t(i);
    if (i + 1 < thread.depth) std::rotate(first, first + 1, thread.scopes.begin() + std::ptrdiff_t(thread.depth));
    --thread.depth;
    return;
  }
  erase_started(thread, *span);
}

void Assembler::finish(OpenSpan& span, std::int64_t end_monotonic_ns, std::span<const std::byte> items,
                       SpanSink& sink) {
  if (span.is_activation) return;
  std::int64_t duration_ns = duration_until(end_monotonic_ns, span);
  if (!items.empty())
    if (const Placement placement = placement_of(items); placement.has_time)
      duration_ns = wrapping_difference(placement.unix_ns, span.start_unix_ns);
  sink.on_span(record_of(span, duration_ns));
}

// Its span is the one that a span of this place would nest in; outside of any it has none.
void Assembler::log(const Thread& thread, const RecordHeader& header, std::span<const std::byte> items,
                    SpanSink& sink) const {
  otlp::LogRecord record;
  record.severity = header.reference;
  record.observed_unix_ns = time_.unix_ns(header.ticks);
  const Placement placement = placement_of(items);
  record.unix_ns = placement.has_time ? placement.unix_ns : record.observed_unix_ns;
  record.items = items;
  if (thread.depth > 0) {
    const OpenSpan& current = thread.scopes[thread.depth - 1];
    record.trace = current.trace;
    record.span = current.span;
    record.flags = current.flags;
  }
  sink.on_log(record);
}

void Assembler::orphan_scopes(Thread& thread) {
  for (std::size_t i = 0; i < thread.depth; ++i) {
    OpenSpan& scope = thread.scopes[i];
    if (scope.is_activation) continue;
    keep(scope);
    add_started(thread, scope.position) = std::move(scope);
  }
  thread.is_changed |= thread.depth > 0;
  thread.depth = 0;
}

void Assembler::apply_elsewhere(Position target, std::span<const std::byte> record, SpanSink& sink) {
  changed_.push_back(target);
  Thread* thread = find_thread(target);
  OpenSpan* span = thread ? find(*thread, target) : nullptr;
  if (!span) return;
  RecordHeader header;
  std::memcpy(&header, record.data(), sizeof header);
  if (header.kind() == RecordKind::end) return end(*thread, span, header, record.subspan(sizeof header), sink);
  tell(*thread, *span, header.kind(), record);
}

// What happened before an aged record was there to be read in this cycle at the latest, in whatever ring: so all up to
// the last aged one is complete.
void Assembler::apply_aged(SpanSink& sink) {
  std::stable_sort(elsewhere_.begin(), elsewhere_.end(),
                   [](const Elsewhere& left, const Elsewhere& right) { return left.ticks < right.ticks; });
  const auto last_aged =
      std::find_if(elsewhere_.rbegin(), elsewhere_.rend(), [](const Elsewhere& e) { return e.aged; });
  base::Buffer waiting;
  for (auto entry = elsewhere_.begin(); entry != elsewhere_.end(); ++entry) {
    RecordHeader header;
    std::memcpy(&header, elsewhere_records_.data() + entry->offset, sizeof header);
    const std::span<const std::byte> record{elsewhere_records_.data() + entry->offset, header.bytes()};
    if (entry < last_aged.base()) {
      changed_.push_back(entry->ring);
      apply_elsewhere(entry->target, record, sink);
    } else {
      entry->aged = true;
      entry->offset = waiting.size();
      waiting.append(record.data(), record.size());
    }
  }
  elsewhere_.erase(elsewhere_.begin(), last_aged.base());
  elsewhere_records_ = std::move(waiting);
}

void Assembler::end_cycle(SpanSink& sink) {
  if (!elsewhere_.empty()) apply_aged(sink);
  for (Thread* thread : taken_) {
    keep_new(*thread);
    shrink_scopes(*thread);
    if (thread->is_changed) changed_.push_back(thread->taken_from);
  }
  taken_.clear();
}

// What began in earlier cycles was copied then.
void Assembler::keep_new(Thread& thread) {
  for (std::size_t i = thread.depth; i-- > 0 && thread.scopes[i].position >= thread.taken_from;) {
    keep(thread.scopes[i]);
    thread.is_changed = true;
  }
  thread.started.visit_youngest_first([&](OpenSpan& span) {
    if (span.position < thread.taken_from) return false;
    keep(span);
    thread.is_changed = true;
    return true;
  });
}

void Assembler::for_each_open(const std::function<void(const OpenSpan&)>& visit) const {
  for (const auto& [ring, thread] : threads_)
    for (std::size_t i = 0; i < thread.depth; ++i) visit(thread.scopes[i]);
  for (const auto& [ring, thread] : threads_) thread.started.for_each(visit);
}

void Assembler::truncate_open(std::uint64_t ticks, std::string_view reason, SpanSink& sink) {
  std::vector<const OpenSpan*> open;
  for_each_open([&open](const OpenSpan& span) {
    if (!span.is_activation) open.push_back(&span);
  });
  // Innermost first is youngest first: a child never starts before its parent.
  std::stable_sort(open.begin(), open.end(), [](const OpenSpan* left, const OpenSpan* right) {
    return left->start_monotonic_ns > right->start_monotonic_ns;
  });
  for (const OpenSpan* span : open) {
    otlp::SpanRecord record = record_of(*span, duration_until(time_.monotonic_ns(ticks), *span));
    record.truncated = true;
    record.truncation_reason = reason;
    sink.on_span(record);
  }
  threads_.clear();
  taken_.clear();
  open_bytes_ = 0;
}

}  // namespace lens::assemble
