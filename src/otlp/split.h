// SPDX-License-Identifier: Apache-2.0
// Halves of a request that a collector found too large.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lens::otlp {

struct SplitRequest {
  std::string first, second;
  std::uint64_t first_spans, second_spans;
};

/// Two requests with the resource and scope of `request`, which is one of a TraceEnvelope's, and about half its bytes
/// of spans each. Nothing when it holds less than two spans.
std::optional<SplitRequest> split(std::string_view request);

}  // namespace lens::otlp
