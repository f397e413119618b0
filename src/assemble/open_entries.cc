// SPDX-License-Identifier: Apache-2.0
// What is open, on its way to the file of rings and back.
#include <cstring>
#include <initializer_list>

#include "src/assemble/assembler.h"
#include "src/assemble/later_records.h"
#include "src/assemble/open_entry.h"

namespace lens::assemble {
namespace {

using namespace detail;

constexpr std::uint32_t remote_parent = 1 << 8;

bool same_ring(Position left, Position right) noexcept { return (left ^ right) >> position_ring_shift == 0; }

/// A list on its way into memory, or, without any, only its length.
class OpenList {
 public:
  OpenList(std::byte* to, std::size_t room) : to_(to), room_(room) {}

  /// Appends an entry and its records; nothing, and false, when there is no room for it.
  bool append(OpenEntry entry, std::initializer_list<std::span<const std::byte>> begin,
              std::initializer_list<std::span<const std::byte>> later) {
    for (const auto part : begin) entry.begin_bytes += static_cast<std::uint32_t>(part.size());
    entry.bytes = entry.begin_bytes;
    for (const auto part : later) entry.bytes += static_cast<std::uint32_t>(part.size());
    if (sizeof entry + entry.bytes > room_ - bytes_) return false;
    put(std::as_bytes(std::span(&entry, 1)));
    for (const auto parts : {begin, later})
      for (const auto part : parts) put(part);
    return true;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void put(std::span<const std::byte> part) {
    if (to_ && !part.empty()) std::memcpy(to_ + bytes_, part.data(), part.size());
    bytes_ += part.size();
  }

  std::byte* to_;
  std::size_t room_, bytes_ = 0;
};

/// The item of an activation: the context that it makes current.
struct ContextItem {
  explicit ContextItem(const OpenSpan& span) noexcept
      : item{0, ItemType::parent, span.flags, 0}, trace(span.trace), span(span.span) {}
  ItemHeader item;
  model::TraceWords trace;
  std::uint64_t span;
};

/// False when something of it found no room.
bool append_span(OpenKind kind, const OpenSpan& span, OpenList& list) {
  OpenEntry entry{};
  entry.kind = kind;
  entry.position = span.position;
  entry.trace[0] = span.trace.high;
  entry.trace[1] = span.trace.low;
  entry.parent = span.parent;
  entry.flags = span.flags | (span.parent_is_remote ? remote_parent : 0);
  entry.start_unix_ns = span.start_unix_ns;
  entry.start_monotonic_ns = span.start_monotonic_ns;
  // Without ticks: the start is in the entry.
  RecordHeader header{0, span.name, 0};
  const auto begin = std::as_bytes(std::span(&header, 1));
  if (span.is_activation) {
    const ContextItem context(span);
    header.form = RecordHeader::form_of(sizeof header + sizeof context, RecordKind::activate);
    return list.append(entry, {begin, std::as_bytes(std::span(&context, 1))}, {});
  }
  const RecordKind record_kind = span.is_started ? RecordKind::start : RecordKind::begin;
  const LostNote attributes(RecordKind::attributes, 1), events(RecordKind::event, 1), links(RecordKind::links, 1);
  const auto note = [](const LostNote& lost, bool is_lost) {
    return is_lost ? lost.bytes() : std::span<const std::byte>{};
  };
  header.form = RecordHeader::form_of(sizeof header + span.items().size(), record_kind);
  if (list.append(entry, {begin, span.items()},
                  {span.later(), note(attributes, span.lost.attributes), note(events, span.lost.events),
                   note(links, span.lost.links)}))
    return true;
  // Rather without attributes than not at all.
  header.form = RecordHeader::form_of(sizeof header, record_kind);
  list.append(entry, {begin}, {attributes.bytes()});
  return false;
}

}  // namespace

SavedOpen Assembler::save_open(Position ring, std::span<std::byte> room) const {
  return list_open(ring, room.data(), room.size());
}

std::size_t Assembler::open_list_bytes(Position ring, std::size_t room) const {
  return list_open(ring, nullptr, room).bytes;
}

SavedOpen Assembler::list_open(Position ring, std::byte* to, std::size_t room) const {
  OpenList list(to, room);
  bool all = true;
  if (const auto found = threads_.find(static_cast<std::uint32_t>(ring >> position_ring_shift));
      found != threads_.end()) {
    const Thread& thread = found->second;
    for (std::size_t i = 0; i < thread.depth; ++i) all &= append_span(OpenKind::scope, thread.scopes[i], list);
    thread.started.for_each([&](const OpenSpan& span) { all &= append_span(OpenKind::started, span, list); });
  }
  for (const Elsewhere& record : elsewhere_) {
    if (!same_ring(record.ring, ring)) continue;
    OpenEntry entry{};
    entry.kind = OpenKind::elsewhere;
    entry.position = record.target;
    RecordHeader header;
    const std::byte* bytes = elsewhere_records_.data() + record.offset;
    std::memcpy(&header, bytes, sizeof header);
    all &= list.append(entry, {{bytes, header.bytes()}}, {});
  }
  return {list.bytes(), all};
}

void Assembler::restore_open(Position ring, std::span<const std::byte> entries) {
  Thread& thread = thread_of(ring);
  while (entries.size() >= sizeof(OpenEntry)) {
    OpenEntry entry;
    std::memcpy(&entry, entries.data(), sizeof entry);
    entries = entries.subspan(sizeof entry);
    if (entry.bytes > entries.size() || entry.begin_bytes > entry.bytes || entry.begin_bytes < sizeof(RecordHeader)) {
      ++malformed_count_;
      return;
    }
    const auto begin = entries.first(entry.begin_bytes);
    const auto later = entries.first(entry.bytes).subspan(entry.begin_bytes);
    entries = entries.subspan(entry.bytes);
    RecordHeader header;
    std::memcpy(&header, begin.data(), sizeof header);
    if (entry.kind == OpenKind::elsewhere) {
      if (header.bytes() != begin.size()) {
        ++malformed_count_;
        continue;
      }
      defer(ring, entry.position, begin, true);
      continue;
    }
    if (entry.kind == OpenKind::scope && thread.depth == thread.scopes.size()) add_places_for_scopes(thread);
    OpenSpan& span =
        entry.kind == OpenKind::scope ? thread.scopes[thread.depth++] : add_started(thread, entry.position);
    describe(span, entry.position, header, begin.subspan(sizeof header), nullptr);
    span.start_unix_ns = entry.start_unix_ns;
    span.start_monotonic_ns = entry.start_monotonic_ns;
    if (!span.is_activation) {
      span.trace = {entry.trace[0], entry.trace[1]};
      span.parent = entry.parent;
      span.flags = static_cast<std::uint8_t>(entry.flags);
      span.parent_is_remote = (entry.flags & remote_parent) != 0;
    }
    keep(span);
    if (!later.empty()) tell(thread, span, RecordKind::attributes, later);
  }
}

}  // namespace lens::assemble
