// SPDX-License-Identifier: Apache-2.0
// UTF-8 that a protobuf string field may hold: programs pass whatever bytes they have.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lens::base {

bool is_utf8(std::string_view text) noexcept;

/// Eight bytes at a time, the last of them with some for the second time. False for less than eight.
inline bool is_ascii(std::string_view text) noexcept {
  if (text.size() < 8) return false;
  const auto word_at = [text](std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    return word;
  };
  std::uint64_t words = word_at(text.size() - 8);
  for (std::size_t at = 0; at + 8 < text.size(); at += 8) words |= word_at(at);
  return (words & 0x8080808080808080u) == 0;
}

/// Each byte that is no part of a valid sequence becomes U+FFFD.
std::string repaired_utf8(std::string_view text);

/// The longest beginning of at most `count` characters of valid UTF-8.
std::string_view first_characters(std::string_view text, std::size_t count) noexcept;

}  // namespace lens::base
