// SPDX-License-Identifier: Apache-2.0
// Compression of whole bodies. Each call is a stream of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lens::exporting {

/// Nothing when there is no memory for it.
std::optional<std::string> gzipped(std::string_view bytes, std::string_view more = {});
std::optional<std::string> zstd_compressed(std::string_view bytes);

struct Unpacked {
  enum class State {
    whole,
    unkept,     // whole too, but longer than what is worth keeping
    too_large,  // it grows beyond what was allowed
    broken,     // its end is missing, or it is something else
  };
  State state = State::broken;
  std::string bytes = {};  // of what is whole

  bool is_whole() const noexcept { return state == State::whole || state == State::unkept; }
};

/// Of what grows beyond `most_kept_bytes` the rest is checked, and nothing kept.
Unpacked gunzipped(std::string_view bytes, std::size_t most_bytes, std::size_t most_kept_bytes = std::string::npos);

}  // namespace lens::exporting
