// SPDX-License-Identifier: Apache-2.0
// Halves of the spans that a collector found too large; request.h halves whole requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lens::otlp {

struct FirstHalf {
  std::size_t bytes;
  std::uint64_t spans;
};

/// Where to cut a run of encoded ScopeSpans.spans elements in two, of about as many bytes each. Nothing when it holds
/// less than two.
std::optional<FirstHalf> first_half(std::string_view elements);

}  // namespace lens::otlp
