// SPDX-License-Identifier: Apache-2.0
// Reading small files whole, those under /proc included.
#pragma once

#include <optional>
#include <string>

namespace lens::base {

/// The content; nothing when the file cannot be read.
std::optional<std::string> read_file(const std::string& path);

}  // namespace lens::base
