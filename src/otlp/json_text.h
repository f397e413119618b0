// SPDX-License-Identifier: Apache-2.0
// UTF-8, as far as JSON needs it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lens::otlp {

/// The bytes of the code point that `text` begins with; 0 when it begins with none (or is empty).
std::size_t utf8_length(std::string_view text) noexcept;

/// `text` with U+FFFD in place of each byte that belongs to no code point.
std::string to_valid_utf8(std::string_view text);

}  // namespace lens::otlp
