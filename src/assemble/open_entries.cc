// SPDX-License-Identifier: Apache-2.0
// What is open, on its way to the file of rings and back.
#include <cstring>

#include "src/assemble/assembler.h"
#include "src/assemble/open_entry.h"

namespace lens::assemble {
namespace {

using namespace detail;

constexpr std::uint32_t remote_parent = 1 << 8;

bool same_ring(Position left, Position right) noexcept { return (left ^ right) >> position_ring_shift == 0; }

// Appends an entry and its records; nothing when there is no room for it.
bool append_entry(OpenEntry entry, const RecordHeader& begin, std::span<const std::byte> items,
                  std::span<const std::byte> later, std::size_t room, base::Buffer& entries) {
  entry.begin_bytes = static_cast<std::uint32_t>(sizeof begin + items.size());
  entry.bytes = static_cast<std::uint32_t>(entry.begin_bytes + later.size());
  if (entries.size() + sizeof entry + entry.bytes > room) return false;
  entries.append(&entry, sizeof entry);
  entries.append(&begin, sizeof begin);
  entries.append(items.data(), items.size());
  entries.append(later.data(), later.size());
  return true;
}

bool append_span(OpenKind kind, const OpenSpan& span, std::size_t room, base::Buffer& entries) {
  OpenEntry entry{};
  entry.kind = kind;
  entry.position = span.position;
  entry.trace[0] = span.trace.high;
  entry.trace[1] = span.trace.low;
  entry.parent = span.parent;
  entry.flags = span.flags | (span.parent_is_remote ? remote_parent : 0);
  entry.start_unix_ns = span.start_unix_ns;
  entry.start_monotonic_ns = span.start_monotonic_ns;
  const std::span<const std::byte> later{span.later.data(), span.later.size()};
  return append_entry(entry, span.begin, span.items, later, room, entries) ||
         append_entry(entry, span.begin, {}, {}, room, entries);  // rather without attributes than not at all
}

}  // namespace

bool Assembler::save_open(Position ring, std::size_t room, base::Buffer& entries) const {
  bool all = true;
  if (const auto thread = threads_.find(static_cast<std::uint32_t>(ring >> position_ring_shift));
      thread != threads_.end()) {
    for (std::size_t i = 0; i < thread->second.depth; ++i)
      all &= append_span(OpenKind::scope, thread->second.scopes[i], room, entries);
  }
  for (const auto& [key, span] : started_)
    if (same_ring(span.position, ring)) all &= append_span(OpenKind::started, span, room, entries);
  for (const Elsewhere& record : elsewhere_) {
    if (!same_ring(record.ring, ring)) continue;
    OpenEntry entry{};
    entry.kind = OpenKind::elsewhere;
    entry.position = record.target;
    RecordHeader header;
    const std::byte* bytes = elsewhere_records_.data() + record.offset;
    std::memcpy(&header, bytes, sizeof header);
    all &= append_entry(entry, header, {bytes + sizeof header, header.bytes() - sizeof header}, {}, room, entries);
  }
  return all;
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
    OpenSpan span;
    describe(span, entry.position, header, begin.subspan(sizeof header), nullptr);
    span.start_unix_ns = entry.start_unix_ns;
    span.start_monotonic_ns = entry.start_monotonic_ns;
    if (!span.is_activation) {
      span.trace = {entry.trace[0], entry.trace[1]};
      span.parent = entry.parent;
      span.flags = static_cast<std::uint8_t>(entry.flags);
      span.parent_is_remote = (entry.flags & remote_parent) != 0;
    }
    span.keep();
    span.later.append(later.data(), later.size());
    if (entry.kind == OpenKind::scope) {
      thread.scopes.resize(thread.depth);
      thread.scopes.push_back(std::move(span));
      ++thread.depth;
    } else {
      restore_started(std::move(span));
    }
  }
}

}  // namespace lens::assemble
