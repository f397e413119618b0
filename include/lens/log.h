// SPDX-License-Identifier: Apache-2.0
// Log records that name the span they were written in. Include this to log by hand, or to bridge a logging library;
// the bridge for spdlog is lens/spdlog.h.
//
// Threads:   any; a record belongs to the calling thread's current span.
// Ownership: nothing is borrowed after the call returns.
// Errors:    none: what finds no room is dropped and counted. Only what a deferred attribute throws passes.
// Cost:      off (the default, LOGS_ENABLED=0): load, test, branch. On: a record in the thread's ring.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "lens/attribute.h"
#include "lens/span.h"

namespace lens {

/// OpenTelemetry's severity numbers; those between are finer grades of the one below.
enum class Severity : std::uint8_t { trace = 1, debug = 5, info = 9, warn = 13, error = 17, fatal = 21 };

/// What is longer is cut there, and marked `nemo.log.truncated`.
inline constexpr std::size_t max_log_body_bytes = 8192;

namespace detail {

/// Whether this process records what it logs.
extern LENS_API std::atomic<bool> logging;

/// Finds room for a log record. False: it is dropped and counted. The last quarter of a ring is left to spans.
LENS_API bool make_room_for_log(std::uint64_t bytes) noexcept;

/// The body, cut between two characters of UTF-8.
inline TextItem body_item(std::string_view body) noexcept {
  const bool is_cut = body.size() > max_log_body_bytes;
  if (is_cut) {
    std::size_t size = max_log_body_bytes;
    for (int i = 0; i < 3 && (static_cast<unsigned char>(body[size]) & 0xc0) == 0x80; ++i) --size;
    body = body.substr(0, size);
  }
  return {0, body, ItemType::body, is_cut};
}

struct LogTime {
  std::optional<SystemTime> value;
  std::uint64_t bytes() const noexcept { return value ? ScalarItem::bytes() : 0; }
  void write(std::byte* at) const noexcept {
    if (!value) return;
    ScalarItem{{0, ItemType::time, 0, 0}, unix_ns(*value)}.write(at);
  }
};

template <class... Items>
void append_log(Severity severity, const Items&... items) noexcept {
  const std::uint64_t bytes = (sizeof(RecordHeader) + ... + items.bytes());
  if (!make_room_for_log(bytes)) return;
  ThreadState& thread = thread_state;
  append(thread, thread.position(), bytes, RecordHeader::form_of(bytes, RecordKind::log), std::uint32_t(severity),
         now_ticks(thread), items...);
}

}  // namespace detail

/// Whether log records go anywhere: for who would have to make the body first.
inline bool is_logging() noexcept {
  // Relaxed: a flip needs to be seen soon, not in any order with other memory.
  return detail::logging.load(std::memory_order_relaxed);
}

/// A log record of something that happened at `time`, such as when it was handed to a queue.
template <class... K, class... V>
void log(Severity severity, std::string_view body, std::optional<SystemTime> time,
         const Attribute<K, V>&... attributes) {
  if (!is_logging()) return;
  std::apply(
      [&](const auto&... known) {
        detail::append_log(severity, detail::LogTime{time}, detail::body_item(body), detail::item_of(known)...);
      },
      std::tuple(detail::resolved(attributes)...));
}

/// A log record of now: `lens::log(lens::Severity::warn, "loss is not finite", "iteration"_a = i)`.
template <class... K, class... V>
LENS_INLINE void log(Severity severity, std::string_view body, const Attribute<K, V>&... attributes) {
  if (!is_logging()) [[likely]]
    return;
  log(severity, body, std::nullopt, attributes...);
}

}  // namespace lens
