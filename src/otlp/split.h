// SPDX-License-Identifier: Apache-2.0
// Halves of what a collector found too large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lens::otlp {

struct FirstHalf {
  std::size_t bytes;
  std::uint64_t spans;
};

/// Where to cut a run of encoded ScopeSpans.spans elements in two, of about as many bytes each. Nothing when it holds
/// less than two.
std::optional<FirstHalf> first_half(std::string_view elements);

struct SplitRequest {
  std::string first, second;
  std::uint64_t first_spans, second_spans;
};

/// The same with a whole request, which is one of a Envelope's and holds `count` spans: two with its resource and
/// scope.
std::optional<SplitRequest> split(std::string_view request, std::uint64_t count);

}  // namespace lens::otlp
