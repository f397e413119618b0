// SPDX-License-Identifier: Apache-2.0
// Compression of whole bodies. Each call is a stream of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lens::exporting {

/// Spans become as small as at level 1, in three quarters of the time.
inline constexpr int zstd_level = -1;

/// Nothing when there is no memory for it.
std::optional<std::string> gzipped(std::string_view bytes);
std::optional<std::string> zstd_compressed(std::string_view bytes);

/// Nothing when it is not gzip, or would grow beyond `most_bytes`.
std::optional<std::string> gunzipped(std::string_view bytes, std::size_t most_bytes);

}  // namespace lens::exporting
