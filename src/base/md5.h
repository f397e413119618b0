// SPDX-License-Identifier: Apache-2.0
// MD5 (RFC 1321), as a spreading function and not for security: rank sampling is defined by it, so that programs in
// other languages choose the same ranks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lens::base {

using Md5Digest = std::array<std::uint8_t, 16>;

Md5Digest md5(std::string_view message);

/// The digest as 32 lower-case hexadecimal digits.
std::string hex(const Md5Digest& digest);

}  // namespace lens::base
