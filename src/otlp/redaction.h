// SPDX-License-Identifier: Apache-2.0
// Which attributes must not leave the process with their text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lens::otlp {

inline constexpr std::string_view redaction = "[REDACTED]";

/// Whether string values under this key are replaced by `redaction`: a listed key in any case, or one that ends in
/// `.` or `_` and a listed one of password, token, secret, key.
bool is_redacted(std::string_view key, const std::vector<std::string>& redacted);

}  // namespace lens::otlp
