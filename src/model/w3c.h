// SPDX-License-Identifier: Apache-2.0
// The texts of W3C trace context (level 2) and baggage. Include it to read or write those headers.
//
// Errors: std::bad_alloc only. What is malformed gives nothing; the `fault_of_` functions say why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lens/w3c.h"

namespace lens::model {

/// Which headers this process reads and writes.
struct Propagators {
  bool trace_context = true;
  bool baggage = true;
  friend bool operator==(const Propagators&, const Propagators&) = default;
};

detail::W3cHeaders to_w3c(const Propagation& propagation, Propagators propagators);
Propagation from_w3c(const detail::W3cHeaders& headers, Propagators propagators, Propagation before);

/// Of flags that are not known to us, nothing is kept.
SpanContext parse_traceparent(std::string_view header) noexcept;
/// Empty for no context.
std::string format_traceparent(const SpanContext& context);

/// The members, one for each key, the first: it is the most recent. None when any is malformed.
std::vector<std::string_view> parse_tracestate(std::string_view header);
/// As much as there must be room for in a header; whole members.
std::string format_tracestate(std::vector<std::string_view> members);

/// Those members that are well-formed, as many as must be carried.
std::vector<BaggageMember> parse_baggage(std::string_view header);
std::string format_baggage(const std::vector<BaggageMember>& members);

/// What is wrong with a header, as a clause for people; empty when all of it is read, or when there is none. It repeats
/// nothing of the header, which may be nobody's business.
std::string fault_of_traceparent(std::string_view header);
std::string fault_of_tracestate(std::string_view header);
std::string fault_of_baggage(std::string_view header);

}  // namespace lens::model
