// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/json_text.h"

#include <cstdint>

namespace lens::otlp {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The second byte decides about overlong forms, surrogates and what lies beyond U+10FFFF.
bool is_valid_second(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xe0: return second >= 0xa0;
    case 0xed: return second < 0xa0;
    case 0xf0: return second >= 0x90;
    case 0xf4: return second < 0x90;
    default: return true;
  }
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  return is_valid_second(first, static_cast<unsigned char>(text[1])) ? length : 0;
}

std::string to_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    if (length == 0) {
      valid += "\xef\xbf\xbd";
      length = 1;
    } else {
      valid.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return valid;
}

}  // namespace lens::otlp
