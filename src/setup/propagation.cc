// SPDX-License-Identifier: Apache-2.0
#include "src/setup/propagation.h"

#include <algorithm>

#include "src/setup/environment.h"

namespace lens::setup {
namespace {

void warn_of_trace_context(const detail::W3cHeaders& headers, std::vector<std::string>& warnings) {
  const bool has_state = !headers.tracestate.empty();
  if (headers.traceparent.empty()) {
    if (has_state) warnings.push_back("TRACESTATE is passed over: there is no TRACEPARENT that it belongs to");
  } else if (const std::string fault = model::fault_of_traceparent(headers.traceparent); !fault.empty()) {
    warnings.push_back(std::string{"TRACEPARENT is passed over"} + (has_state ? ", and TRACESTATE with it" : "") +
                       ": " + fault + "; spans begin traces of their own");
  } else if (const std::string of_state = model::fault_of_tracestate(headers.tracestate); !of_state.empty()) {
    warnings.push_back("TRACESTATE is passed over, all of it: " + of_state + "; TRACEPARENT is read");
  }
}

void warn_of_baggage(const detail::W3cHeaders& headers, std::vector<std::string>& warnings) {
  if (const std::string fault = model::fault_of_baggage(headers.baggage); !fault.empty())
    warnings.push_back("BAGGAGE is not read as a whole: " + fault + "; what is sound of it is read");
}

}  // namespace

model::Propagators propagators_of(const StandardConfig& standard) {
  const auto is_named = [&](std::string_view name) {
    return std::ranges::find(standard.propagators, name) != standard.propagators.end();
  };
  return {.trace_context = is_named("tracecontext"), .baggage = is_named("baggage")};
}

Propagation read_propagation(model::Propagators propagators, std::vector<std::string>& warnings) {
  const detail::W3cHeaders headers{read_variable("TRACEPARENT").value_or(""), read_variable("TRACESTATE").value_or(""),
                                   read_variable("BAGGAGE").value_or("")};
  Propagation found = model::from_w3c(headers, propagators, {});
  if (propagators.trace_context) warn_of_trace_context(headers, warnings);
  if (propagators.baggage) warn_of_baggage(headers, warnings);
  return found;
}

}  // namespace lens::setup
