// SPDX-License-Identifier: Apache-2.0
// How a span reaches its thread's ring: what the inline code of span.h is made of. Users include lens/span.h instead.
//
// A thread owns a ring of bytes, mapped twice in a row so that no record wraps. Begin and end each append one 16-byte
// record (attributes behind it) and publish the new head; the pipeline thread and readers outside the process take
// it from there. docs/format.md describes the bytes.
//
// Threads: everything here touches the calling thread's ring only.
// Errors:  none; a record that finds no room is dropped and counted.
// Cost:    per record: one clock read, one 16-byte store, three stores to the thread's own cache lines.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lens/visibility.h"

#define LENS_INLINE inline __attribute__((always_inline))

namespace lens::detail {

/// The place of a record: the ring's number in the upper 16 bits, below it the bytes that the ring took before it.
/// It names the record for the life of the process; 0 is no record. The lowest bit is free for a mark.
using Position = std::uint64_t;
inline constexpr int position_ring_shift = 48;

enum class RecordKind : std::uint8_t {
  begin = 1,       // a scope begins: it becomes the thread's youngest open scope
  end = 2,         // ends the scope, span or activation that began at `reference`
  start = 3,       // a span that is no scope begins
  activate = 4,    // a context becomes the thread's youngest open scope; ended by `end`
  attributes = 5,  // more attributes of the span at `reference`
  event = 6,       // an event; `reference` is its name, its span an item
  links = 7,       // more links of the span at `reference`
  status = 8,      // status of the span at `reference`
  thread = 9,      // another thread took the ring over
  lost = 10,       // a record about the span at `reference` found no room: the item `lost` says of which kind
  unsampled = 11,  // the span at `reference` is not kept, nor is what nests in it
  log = 12,        // a log record of severity `reference`, under the youngest scope that is open
};

/// Every record starts with this and is a multiple of 8 bytes long.
struct RecordHeader {
  std::uint64_t ticks;      // of the clock in use, see `now_ticks`
  std::uint32_t reference;  // begin, start, event: name; else the lower half of a position (names_by_half)
  std::uint32_t form;       // bits 0-23: bytes of the whole record / 8; 24-30: kind; 31: span in another ring

  constexpr std::uint64_t bytes() const noexcept { return std::uint64_t(form & 0xffffff) * 8; }
  constexpr RecordKind kind() const noexcept { return RecordKind(form >> 24 & 0x7f); }
  /// The record's span is in another ring: its whole position is the first item.
  constexpr bool elsewhere() const noexcept { return form >> 31 != 0; }
  static constexpr std::uint32_t form_of(std::uint64_t bytes, RecordKind kind, bool elsewhere = false) noexcept {
    return std::uint32_t(bytes / 8) | std::uint32_t(kind) << 24 | std::uint32_t(elsewhere) << 31;
  }
};
static_assert(sizeof(RecordHeader) == 16);
inline constexpr std::uint64_t end_record_bytes = sizeof(RecordHeader);

enum class ItemType : std::uint8_t {
  boolean = 1,
  integer = 2,
  floating = 3,
  string = 4,
  boolean_array = 5,
  integer_array = 6,
  floating_array = 7,
  string_array = 8,
  unsigned_integer = 9,  // of 64 bits: what does not fit OTLP's signed ones is written as text
  unsigned_array = 10,
  // Not attributes but parts of a span:
  position = 16,  // the span meant, when it is in another ring
  parent = 17,    // explicit parent: a context; all zero asks for a root
  link = 18,      // a context; `count` attribute items follow
  kind = 19,      // span kind, as an integer
  time = 20,      // explicit start or end, Unix nanoseconds
  status = 21,    // status code in `extra`, then the message
  lost = 22,      // record kind in `extra`
  body = 23,      // of a log record: text; `extra` is 1 when it was cut
};

/// Every item starts with this and is padded to a multiple of 8 bytes.
struct ItemHeader {
  std::uint32_t key;  // interned
  ItemType type;
  std::uint8_t extra;
  std::uint16_t count;  // string: bytes; array: elements; link: attributes that follow
};
static_assert(sizeof(ItemHeader) == 8);

/// The head of the Itanium C++ ABI's __cxa_eh_globals: how many exceptions of this thread are in flight.
struct ExceptionState {
  void* caught;
  unsigned int uncaught;
};

/// Which trace a thread is in.
struct TraceState {
  Position root;  // the scope that began it; 0: `words` is its id
  std::uint64_t words[2];
  std::uint8_t flags;  // W3C trace flags, with `words`
};

/// What every ring's header begins with.
struct RingHead {
  std::atomic<Position> position;       // of the next record; only the ring's owner stores to it
  std::atomic<Position> session_first;  // scopes that began before it were ended by an earlier shutdown
};

/// What a thread keeps. `limit` is 0 before its first span, which sends every operation to the slow path.
struct ThreadState {
  RingHead* head;  // in shared memory
  std::byte* ring;
  std::uint64_t mask;  // ring size - 1
  Position limit;      // a record ends here at the latest; lower by 16 for each open scope
  Position current;    // youngest open scope; marked (bit 0) when its end needs the slow path
  TraceState trace;
  const ExceptionState* exceptions;
  bool system_clock;  // no invariant time stamp counter: ticks are CLOCK_MONOTONIC nanoseconds

  /// Where the next record goes. Relaxed: nobody else stores it.
  Position position() const noexcept { return head->position.load(std::memory_order_relaxed); }

  /// Whether no scope of this session is open. Relaxed: set-up happens before what is recorded after it.
  bool is_outside() const noexcept { return current < head->session_first.load(std::memory_order_relaxed); }
};

/// Initial-exec: one instruction to reach it from any library. Plain __thread: no initialisation check.
extern LENS_API __thread ThreadState thread_state __attribute__((tls_model("initial-exec")));

/// Stands for the head of a thread without a ring.
extern LENS_API RingHead no_head;

/// Finds room for a record of `bytes` behind which `reserve` bytes stay free: makes the ring on a thread's first
/// span, takes back what the pipeline has drained since. False: a span is dropped and counted, or outgrows the ring.
LENS_API bool make_room(std::uint64_t bytes, std::uint64_t reserve) noexcept;

/// Begins a scope whose `bytes` outgrow the ring without its `item_count` items, which are counted. 0: they do not, or
/// even so there was no room.
LENS_API Position begin_bare_scope(std::uint32_t name, std::uint64_t bytes, std::size_t item_count) noexcept;

/// Ends whatever the fast path cannot: a scope left by an exception, out of order, on another thread.
LENS_API void end_slowly(Position position, Position previous, unsigned exceptions) noexcept;

LENS_INLINE std::uint64_t system_clock_ticks() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::uint64_t(now.tv_sec) * 1'000'000'000u + std::uint64_t(now.tv_nsec);
}

LENS_INLINE std::uint64_t now_ticks(const ThreadState& thread) noexcept {
  if (thread.system_clock) [[unlikely]]
    return system_clock_ticks();
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return system_clock_ticks();
#endif
}

// ---- names

/// FNV-1a over 8 bytes at a time, then mixed: the same value at compile time and at run time.
constexpr std::uint64_t text_hash(const char* text, std::size_t size) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u ^ size;
  for (; size >= 8; text += 8, size -= 8) {
    std::uint64_t word = 0;
    for (int i = 7; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(text[i]);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 32;
  }
  for (; size > 0; ++text, --size) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  hash *= 0x9fb21c651e98df25u;
  return hash ^ hash >> 29;
}

/// A cache of interned names, by content: 40 bits of the hash above the 24-bit id. Content, not address, because
/// the address of a literal of an unloaded library is soon another literal's.
inline constexpr std::size_t name_cache_size = 4096;
extern LENS_API std::atomic<std::uint64_t> name_cache[name_cache_size];

/// Interns a name and remembers it in the cache. Never 0; when the table is full, the id of "lens.too_many_names".
LENS_API std::uint32_t intern(std::string_view text, std::uint64_t hash) noexcept;

/// The text of an interned name; it is never given back.
LENS_API std::string_view interned_text(std::uint32_t id) noexcept;

LENS_INLINE std::uint32_t name_id(const char* text, std::size_t size, std::uint64_t hash) noexcept {
  // Relaxed: the word is complete in itself, and an id's text was published before the id.
  const std::uint64_t cached = name_cache[hash % name_cache_size].load(std::memory_order_relaxed);
  if (((cached ^ hash) >> 24) == 0 && cached != 0) [[likely]]
    return std::uint32_t(cached & 0xffffff);
  return intern({text, size}, hash);
}

// ---- records

/// Copies a string without a call: spans carry short ones.
LENS_INLINE void copy_text(std::byte* to, const char* from, std::size_t size) noexcept {
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) std::memcpy(to + at, from + at, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
    return;
  }
  for (std::size_t at = 0; at < size; ++at) to[at] = std::byte(from[at]);
}

constexpr std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + 7) & ~std::uint64_t{7}; }

/// Appends a record at `position`, where there is room; `items` write themselves behind it.
template <class... Items>
LENS_INLINE void append(ThreadState& thread, Position position, std::uint64_t bytes, std::uint32_t form,
                        std::uint32_t reference, std::uint64_t ticks, const Items&... items) noexcept {
  std::byte* at = thread.ring + (position & thread.mask);
  const RecordHeader header{ticks, reference, form};
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  ((items.write(at), at += items.bytes()), ...);
  // Release: a reader that sees the new head sees the record.
  thread.head->position.store(position + bytes, std::memory_order_release);
}

/// Begins a scope; 0 when there was no room.
template <class... Items>
LENS_INLINE Position begin_scope(std::uint32_t name, unsigned& exceptions, const Items&... items) noexcept {
  ThreadState& thread = thread_state;
  const std::uint64_t bytes = (sizeof(RecordHeader) + ... + items.bytes());
  Position position = thread.position();
  if (position + bytes + end_record_bytes > thread.limit) [[unlikely]] {
    if (!make_room(bytes, end_record_bytes)) {
      position = begin_bare_scope(name, bytes, sizeof...(items));
      if (position != 0) exceptions = thread.exceptions->uncaught;
      return position;
    }
    position = thread.position();
  }
  append(thread, position, bytes, RecordHeader::form_of(bytes, RecordKind::begin), name, now_ticks(thread), items...);
  if (thread.is_outside()) thread.trace.root = position;
  thread.current = position;
  thread.limit -= end_record_bytes;
  exceptions = thread.exceptions->uncaught;
  return position;
}

/// Whether a record at `from` can name the one at `position` by the lower half of its position: it means the last one
/// before it that has this half. Not of another ring, nor one that 4 GiB of records lie behind.
constexpr bool names_by_half(Position position, Position from) noexcept { return (from - position) >> 32 == 0; }

LENS_INLINE void end_scope(Position position, Position previous, unsigned exceptions) noexcept {
  ThreadState& thread = thread_state;
  const bool is_far = !names_by_half(position, thread.position());
  if (thread.current != position || thread.exceptions->uncaught != exceptions || is_far) [[unlikely]]
    return end_slowly(position, previous, exceptions);
  append(thread, thread.position(), end_record_bytes, RecordHeader::form_of(end_record_bytes, RecordKind::end),
         std::uint32_t(position), now_ticks(thread));
  thread.current = previous;
  thread.limit += end_record_bytes;
}

}  // namespace lens::detail
