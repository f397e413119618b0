// SPDX-License-Identifier: Apache-2.0
// What is open has a bound of memory: places for spans, and what they are told while they are open.
#include <algorithm>

#include "src/assemble/assembler.h"
#include "src/assemble/later_records.h"

namespace lens::assemble {
namespace {

using namespace detail;

void mark_lost(otlp::LostParts& lost, RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::event: lost.events = true; break;
    case RecordKind::links: lost.links = true; break;
    default: lost.attributes = true;
  }
}

}  // namespace

// A part of what is there, so that the copy takes little more than the scopes do.
std::size_t Assembler::growth_of_scopes(const Thread& thread) noexcept {
  constexpr std::size_t least = 16, part = 4;
  return std::max(least, thread.scopes.size() / part);
}

void Assembler::add_places_for_scopes(Thread& thread) {
  const std::size_t growth = growth_of_scopes(thread);
  thread.scopes.reserve(thread.scopes.size() + growth);
  thread.scopes.resize(thread.scopes.size() + growth);
  open_bytes_ += growth * sizeof(OpenSpan);
}

void Assembler::shrink_scopes(Thread& thread) {
  constexpr std::size_t many = 256, much_more = 4;
  if (thread.scopes.size() < many || thread.depth * much_more > thread.scopes.size()) return;
  open_bytes_ -= (thread.scopes.size() - thread.depth) * sizeof(OpenSpan);
  thread.scopes.resize(thread.depth);
  thread.scopes.shrink_to_fit();
}

OpenSpan& Assembler::add_started(Thread& thread, Position position) {
  open_bytes_ += thread.started.growth_bytes();
  OpenSpan& span = thread.started.add(position);
  forget_records_of(span);
  return span;
}

void Assembler::erase_started(Thread& thread, OpenSpan& span) {
  forget_records_of(span);
  const std::size_t before = thread.started.memory_bytes();
  thread.started.erase(span);
  open_bytes_ -= before - thread.started.memory_bytes();
}

// Makes the span independent of the ring: of an activation all is known that is in its record.
void Assembler::keep(OpenSpan& span) {
  if (!span.is_borrowing()) return;
  if (span.is_activation) return span.borrow({});
  const std::size_t growth = span.growth_for(0);
  if (growth > room_for_records()) {
    ++lost_records_;
    span.lost.attributes = true;
    return span.borrow({});
  }
  span.keep();
  open_bytes_ += growth;
}

void Assembler::tell(Thread& thread, OpenSpan& span, RecordKind kind, std::span<const std::byte> record) {
  thread.is_changed |= span.position < thread.taken_from;
  if (kind == RecordKind::unsampled) {
    span.flags &= static_cast<std::uint8_t>(~SpanContext::sampled);
    return;
  }
  constexpr std::size_t many_bytes = 4096;
  if (span.later().size() >= many_bytes && span.growth_for(record.size()) > 0) compact_records_of(span);
  const std::size_t growth = span.growth_for(record.size());
  if (growth > room_for_records()) {
    ++lost_records_;
    return mark_lost(span.lost, kind);
  }
  span.append(record);
  open_bytes_ += growth;
}

// A part is left for spans that begin: rather these than all that one is told.
std::size_t Assembler::room_for_records() const noexcept {
  constexpr std::size_t part_for_places = 16;
  const std::size_t most = most_open_bytes_ - most_open_bytes_ / part_for_places;
  return open_bytes_ < most ? most - open_bytes_ : 0;
}

void Assembler::compact_records_of(OpenSpan& span) {
  const std::size_t before = span.later().size();
  if (as_short_as_can_be_.position == span.position && as_short_as_can_be_.bytes == before) return;
  compact(span.later(), limits_, compacted_);
  if (compacted_.size() < before) span.replace_later({compacted_.data(), compacted_.size()});
  as_short_as_can_be_ = {span.position, span.later().size()};
}

}  // namespace lens::assemble
