// SPDX-License-Identifier: Apache-2.0
// Which headers this process reads and writes, and what it was started in. Include it to set telemetry up.
#pragma once

#include <string>
#include <vector>

#include "lens/config.h"
#include "src/model/w3c.h"

namespace lens::setup {

/// What OTEL_PROPAGATORS names.
model::Propagators propagators_of(const StandardConfig& standard);

/// What the launcher says in TRACEPARENT, TRACESTATE and BAGGAGE, as far as the propagators read it. Where that is less
/// than they say, a warning says what is wrong and what comes of it.
Propagation read_propagation(model::Propagators propagators, std::vector<std::string>& warnings);

}  // namespace lens::setup
