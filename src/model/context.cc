// SPDX-License-Identifier: Apache-2.0
#include "lens/context.h"

#include <algorithm>
#include <cstring>

namespace lens {
namespace {

constexpr std::byte wire_version{1};

template <std::size_t N>
std::string to_hex(const std::array<std::uint8_t, N>& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

std::string TraceId::hex() const { return to_hex(bytes); }
std::string SpanId::hex() const { return to_hex(bytes); }

std::array<std::byte, SpanContext::wire_bytes> SpanContext::to_bytes() const noexcept {
  std::array<std::byte, wire_bytes> wire{};
  if (!valid()) return wire;
  wire[0] = wire_version;
  wire[1] = std::byte{flags};
  std::memcpy(&wire[2], trace_id.bytes.data(), 16);
  std::memcpy(&wire[18], span_id.bytes.data(), 8);
  return wire;
}

SpanContext SpanContext::from_bytes(std::span<const std::byte> wire) noexcept {
  constexpr std::size_t used = 26;
  if (wire.size() != wire_bytes || wire[0] != wire_version) return {};
  if (std::any_of(wire.begin() + used, wire.end(), [](std::byte byte) { return byte != std::byte{}; })) return {};
  SpanContext context;
  context.flags = std::to_integer<std::uint8_t>(wire[1]);
  std::memcpy(context.trace_id.bytes.data(), &wire[2], 16);
  std::memcpy(context.span_id.bytes.data(), &wire[18], 8);
  return context.valid() ? context : SpanContext{};
}

}  // namespace lens
