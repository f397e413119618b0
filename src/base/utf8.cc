// SPDX-License-Identifier: Apache-2.0
#include "src/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace lens::base {
namespace {

// The length of the valid sequence at the start of `text`; 0 when there is none. Unicode 15, table 3-7.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                             : (first & 0xf0) == 0xe0         ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (text.size() >= 8) {  // ASCII, eight at a time
    std::uint64_t word;
    std::memcpy(&word, text.data(), 8);
    if (word & 0x8080808080808080u) break;
    text.remove_prefix(8);
  }
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 8);
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    repaired += length ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(length ? length : 1);
  }
  return repaired;
}

std::string_view first_characters(std::string_view text, std::size_t count) noexcept {
  if (text.size() <= count) return text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins && count-- == 0) return text.substr(0, i);
  }
  return text;
}

}  // namespace lens::base
