// SPDX-License-Identifier: Apache-2.0
// Reading small files whole, those under /proc included; writing whole messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lens::base {

/// The content; nothing when the file cannot be read.
std::optional<std::string> read_file(const std::string& path);

/// Writes all of it, whatever the size of each write. False: errno says why.
bool write_all(int file, std::string_view bytes) noexcept;

}  // namespace lens::base
