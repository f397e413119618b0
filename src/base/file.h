// SPDX-License-Identifier: Apache-2.0
// Reading small files whole, those under /proc included; writing whole messages; whose a directory is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lens::base {

/// The content, or its first bytes; nothing when it cannot be read, or is no file: who reads a pipe or a device may
/// wait for ever.
std::optional<std::string> read_file(const std::string& path, std::size_t most_bytes = SIZE_MAX);

/// Why a directory that is there is not this user's, with nobody else to write to it; empty: it is.
std::string why_not_own_directory(const std::string& path);

/// Writes all of it, whatever the size of each write. False: errno says why.
bool write_all(int file, std::string_view bytes) noexcept;

}  // namespace lens::base
