// SPDX-License-Identifier: Apache-2.0
// Writing protobuf by hand, for the span encoder: tags, varints and fixed fields into room that is already there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lens/recorder.h"

namespace lens::otlp::wire {

enum Type : std::uint32_t { varint_type = 0, fixed64_type = 1, bytes_type = 2, fixed32_type = 5 };
inline constexpr std::size_t max_varint_bytes = 10;

inline std::byte* put_varint(std::byte* at, std::uint64_t value) noexcept {
  while (value >= 0x80) {
    *at++ = std::byte(value | 0x80);
    value >>= 7;
  }
  *at++ = std::byte(value);
  return at;
}

constexpr std::size_t varint_bytes(std::uint64_t value) noexcept {
  return 1 + static_cast<std::size_t>(63 - __builtin_clzll(value | 1)) / 7;
}

inline std::byte* put_tag(std::byte* at, std::uint32_t field, Type type) noexcept {
  return put_varint(at, field << 3 | type);
}

template <class T>
inline std::byte* put_raw(std::byte* at, T value) noexcept {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "protobuf's fixed fields are little-endian");
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

inline std::byte* put_raw(std::byte* at, std::string_view bytes) noexcept {
  constexpr std::size_t worth_a_call = 64;
  if (bytes.size() < worth_a_call)
    detail::copy_text(at, bytes.data(), bytes.size());
  else
    std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

inline std::byte* put_bytes(std::byte* at, std::uint32_t field, std::string_view bytes) noexcept {
  return put_raw(put_varint(put_tag(at, field, bytes_type), bytes.size()), bytes);
}

/// What `put_bytes` writes, for a field number below 16.
constexpr std::size_t bytes_field_bytes(std::size_t size) noexcept { return 1 + varint_bytes(size) + size; }

/// The first length-delimited field of `message`, tag and length included; empty when it is not whole.
inline std::string_view first_field(std::string_view message) noexcept {
  std::uint64_t size = 0;
  for (std::size_t at = 1, shift = 0; at < message.size() && shift < 64; ++at, shift += 7) {
    const auto byte = static_cast<unsigned char>(message[at]);
    size |= std::uint64_t(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    return size <= message.size() - at - 1 ? message.substr(0, at + 1 + size) : std::string_view();
  }
  return {};
}

}  // namespace lens::otlp::wire
