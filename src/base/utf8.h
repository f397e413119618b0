// SPDX-License-Identifier: Apache-2.0
// UTF-8 that a protobuf string field may hold: programs pass whatever bytes they have.
#pragma once

#include <string>
#include <string_view>

namespace lens::base {

bool is_utf8(std::string_view text) noexcept;

/// Each byte that is no part of a valid sequence becomes U+FFFD.
std::string repaired_utf8(std::string_view text);

/// The longest beginning of at most `count` characters of valid UTF-8.
std::string_view first_characters(std::string_view text, std::size_t count) noexcept;

}  // namespace lens::base
