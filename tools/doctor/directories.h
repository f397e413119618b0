// SPDX-License-Identifier: Apache-2.0
// Whether directories can be what they are configured for. Found out by making something there, which is removed again:
// what permissions say does not hold for root, nor for file systems such as /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lens::doctor {

/// Why nothing can be written to the directory, which would be made where it is missing, with all that is above it.
/// Empty: it can.
std::string why_not_writable(const std::string& directory);

/// How the file system where the directory is, or would be, says that it has no locks; empty: it has, or that cannot be
/// told.
std::string why_no_locks(const std::string& directory);

/// Why the file of rings cannot lie there: what is above the directory must exist. Empty: it can.
std::string why_no_rings(const std::string& directory);

/// Of the file system where the directory is, or would be; nothing when it cannot be told.
std::optional<std::uint64_t> free_bytes(const std::string& directory);

}  // namespace lens::doctor
