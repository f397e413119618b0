// SPDX-License-Identifier: Apache-2.0
// Records why a scope was left: the exception that is unwinding the stack.
#pragma once

#include "lens/recorder.h"

namespace lens::record {

/// Adds the event `exception` (type, message) and the status ERROR to the span at `position`.
void record_in_flight_exception(detail::Position position) noexcept;

}  // namespace lens::record
