// SPDX-License-Identifier: Apache-2.0
// The identity of a span, as it travels to other threads, processes and ranks.
// Include it to send a context along with a message, to link to it or to adopt it; span.h includes it.
//
// Threads:   plain values.
// Errors:    none; garbage reads as "no context".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lens/visibility.h"

namespace lens {

/// 128 bits, big-endian as in W3C trace context. All zero: none.
struct TraceId {
  std::array<std::uint8_t, 16> bytes{};
  bool valid() const noexcept { return bytes != std::array<std::uint8_t, 16>{}; }
  LENS_API std::string hex() const;
  friend bool operator==(const TraceId&, const TraceId&) = default;
};

/// 64 bits, big-endian as in W3C trace context. All zero: none.
struct SpanId {
  std::array<std::uint8_t, 8> bytes{};
  bool valid() const noexcept { return bytes != std::array<std::uint8_t, 8>{}; }
  LENS_API std::string hex() const;
  friend bool operator==(const SpanId&, const SpanId&) = default;
};

/// Which span of which trace.
struct SpanContext {
  static constexpr std::uint8_t sampled = 1, random_trace_id = 2;

  TraceId trace_id;
  SpanId span_id;
  std::uint8_t flags = 0;  // W3C trace flags

  bool valid() const noexcept { return trace_id.valid() && span_id.valid(); }
  explicit operator bool() const noexcept { return valid(); }
  friend bool operator==(const SpanContext&, const SpanContext&) = default;

  /// For piggy-backing on a message: a version byte, the flags, the two ids and zeros.
  static constexpr std::size_t wire_bytes = 32;
  LENS_API std::array<std::byte, wire_bytes> to_bytes() const noexcept;
  /// Anything but what `to_bytes` made reads as no context.
  LENS_API static SpanContext from_bytes(std::span<const std::byte> bytes) noexcept;
};

/// The context of the calling thread's youngest open scope; none outside of any.
LENS_API SpanContext current_context() noexcept;

}  // namespace lens
