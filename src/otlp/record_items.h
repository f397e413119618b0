// SPDX-License-Identifier: Apache-2.0
// Reads the items behind a record (docs/format.md), which are bounded by nothing but what they say of themselves: each
// is visited only when it lies whole within the record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include "lens/recorder.h"
#include "lens/span.h"

namespace lens::otlp {

inline std::uint64_t word_at(const std::byte* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

inline std::string_view text_at(const std::byte* at, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(at), size};
}

inline std::size_t text_array_bytes(const std::byte* payload, std::size_t count, const std::byte* end) noexcept {
  const std::byte* at = payload;
  for (std::size_t i = 0; i < count; ++i) {
    if (end - at < 4) return std::numeric_limits<std::size_t>::max();  // not whole
    std::uint32_t size;
    std::memcpy(&size, at, 4);
    const std::uint64_t bytes = detail::padded(4 + std::uint64_t{size});
    if (bytes > static_cast<std::size_t>(end - at)) return std::numeric_limits<std::size_t>::max();
    at += bytes;
  }
  return static_cast<std::size_t>(at - payload);
}

inline std::size_t payload_bytes(const detail::ItemHeader& header, const std::byte* payload,
                                 const std::byte* end) noexcept {
  switch (header.type) {
    case detail::ItemType::boolean:
    case detail::ItemType::integer:
    case detail::ItemType::unsigned_integer:
    case detail::ItemType::floating:
    case detail::ItemType::position:
    case detail::ItemType::kind:
    case detail::ItemType::time:
    case detail::ItemType::lost: return 8;
    case detail::ItemType::string:
    case detail::ItemType::status:
    case detail::ItemType::body: return detail::padded(header.count);
    case detail::ItemType::boolean_array:
    case detail::ItemType::integer_array:
    case detail::ItemType::unsigned_array:
    case detail::ItemType::floating_array: return std::size_t{header.count} * 8;
    case detail::ItemType::string_array: return text_array_bytes(payload, header.count, end);
    case detail::ItemType::parent:
    case detail::ItemType::link: return 24;
  }
  return std::numeric_limits<std::size_t>::max();  // of a later version: neither it nor what is behind it can be read
}

/// Whether a span's status becomes the later one. OpenTelemetry's rule: OK is final, and to unset it changes nothing.
/// Null: it has none yet.
inline bool replaces_status(const detail::ItemHeader* status, const detail::ItemHeader& later) noexcept {
  const auto says = [](const detail::ItemHeader& item, StatusCode code) { return item.extra == std::uint8_t(code); };
  return !(status && says(*status, StatusCode::ok)) && !says(later, StatusCode::unset);
}

/// Whether it is a value under a key, of a span, an event, a link or a log record.
inline bool is_attribute(detail::ItemType type) noexcept { return type < detail::ItemType::position; }

/// Calls `visit(header, payload)` for each item that lies whole within `items`, as long as it returns true. False when
/// it did not.
template <class Visit>
inline bool for_each_item(std::span<const std::byte> items, Visit&& visit) {
  const std::byte* at = items.data();
  const std::byte* const end = at + items.size();
  while (end - at >= std::ptrdiff_t(sizeof(detail::ItemHeader))) {
    detail::ItemHeader header;
    std::memcpy(&header, at, sizeof header);
    at += sizeof header;
    const std::size_t bytes = payload_bytes(header, at, end);
    if (bytes > static_cast<std::size_t>(end - at)) return true;
    if (!visit(header, at)) return false;
    at += bytes;
  }
  return true;
}

}  // namespace lens::otlp
