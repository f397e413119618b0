// SPDX-License-Identifier: Apache-2.0
// Contexts as W3C headers: traceparent, tracestate and baggage.
// Include it where requests go to other services or come from them; ranks have lens/propagation.h.
//
//   inject(request_headers);                                    // what this thread is in
//   options.parent = extract(request_headers).context;          // the caller's span
//
// Threads:   any.
// Ownership: values; what is injected is copied.
// Errors:    none but what the carrier throws. What is malformed counts as not there.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lens/context.h"

namespace lens {

/// One member of the baggage. `value` is plain text; the key must be a token of HTTP and the properties, which stand
/// behind `;` and mean nothing to us, as they stand in the header: else the member is not sent.
struct BaggageMember {
  std::string key;
  std::string value;
  std::string properties = {};

  friend bool operator==(const BaggageMember&, const BaggageMember&) = default;
};

/// All that travels with a request.
struct Propagation {
  SpanContext context = {};
  std::string tracestate = {};  // of `context`'s trace, as it stands in the header
  std::vector<BaggageMember> baggage = {};

  friend bool operator==(const Propagation&, const Propagation&) = default;
};

/// The calling thread's context; outside of any span, the one that this process was started in. Behind it the
/// tracestate (when the trace is the same) and the baggage that the process was started with.
LENS_API Propagation current_propagation();

namespace detail {

/// Empty: not sent, not received.
struct W3cHeaders {
  std::string traceparent;
  std::string tracestate;
  std::string baggage;
};

/// By the process's propagators (OTEL_PROPAGATORS), as the next.
LENS_API W3cHeaders w3c_headers(const Propagation& propagation);
/// What the headers say; `before` where they say nothing.
LENS_API Propagation from_w3c_headers(const W3cHeaders& headers, Propagation before);

LENS_API bool same_header(std::string_view left, std::string_view right) noexcept;

inline void add_header(std::string& header, std::string_view value) {
  if (!header.empty()) header += ',';
  header += value;
}

inline std::string header_text(const char* text) { return text ? text : ""; }
inline std::string header_text(std::string_view text) { return std::string(text); }
inline std::string header_text(std::string text) { return text; }

}  // namespace detail

/// Called with the name and value of each header to be sent.
template <class T>
concept HeaderSetter = std::invocable<T&, std::string, std::string>;

/// A map of headers, or a range of pairs with names in any case; of several with one name, the values are one list.
template <class T>
concept HeaderMap = requires(T& headers) {
  std::string_view(headers.begin()->first);
  std::string_view(headers.begin()->second);
};

/// Called with a header's name in lower case, gives its value, empty or null when there is none; of several with one
/// name, the values joined by commas.
template <class T>
concept HeaderGetter = requires(T& get, std::string name) {
  detail::header_text(get(name));
};

template <HeaderSetter Setter>
void inject(Setter&& set, const Propagation& propagation = current_propagation()) {
  detail::W3cHeaders headers = detail::w3c_headers(propagation);
  if (!headers.traceparent.empty()) set(std::string("traceparent"), std::move(headers.traceparent));
  if (!headers.tracestate.empty()) set(std::string("tracestate"), std::move(headers.tracestate));
  if (!headers.baggage.empty()) set(std::string("baggage"), std::move(headers.baggage));
}

template <HeaderMap Map>
requires requires(Map& headers) { headers.insert_or_assign(std::string(), std::string()); }
void inject(Map& headers, const Propagation& propagation = current_propagation()) {
  inject([&](std::string name, std::string value) { headers.insert_or_assign(std::move(name), std::move(value)); },
         propagation);
}

/// What the headers say. What they do not say is taken from `before`: a valid context is never replaced by none.
template <HeaderGetter Getter>
Propagation extract(Getter&& get, Propagation before = {}) {
  using namespace std::string_literals;
  return detail::from_w3c_headers({detail::header_text(get("traceparent"s)), detail::header_text(get("tracestate"s)),
                                   detail::header_text(get("baggage"s))},
                                  std::move(before));
}

template <HeaderMap Map>
Propagation extract(const Map& headers, Propagation before = {}) {
  detail::W3cHeaders found;
  for (const auto& [name, value] : headers) {
    if (detail::same_header(name, "traceparent")) detail::add_header(found.traceparent, value);
    if (detail::same_header(name, "tracestate")) detail::add_header(found.tracestate, value);
    if (detail::same_header(name, "baggage")) detail::add_header(found.baggage, value);
  }
  return detail::from_w3c_headers(found, std::move(before));
}

}  // namespace lens
