// SPDX-License-Identifier: Apache-2.0
#include "src/setup/propagation.h"

#include <algorithm>

#include "src/setup/environment.h"

namespace lens::setup {

model::Propagators propagators_of(const StandardConfig& standard) {
  const auto is_named = [&](std::string_view name) {
    return std::ranges::find(standard.propagators, name) != standard.propagators.end();
  };
  return {.trace_context = is_named("tracecontext"), .baggage = is_named("baggage")};
}

Propagation read_propagation(model::Propagators propagators) {
  const detail::W3cHeaders headers{read_variable("TRACEPARENT").value_or(""), read_variable("TRACESTATE").value_or(""),
                                   read_variable("BAGGAGE").value_or("")};
  return model::from_w3c(headers, propagators, {});
}

}  // namespace lens::setup
