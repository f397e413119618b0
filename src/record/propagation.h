// SPDX-License-Identifier: Apache-2.0
// What set-up decides about the headers of this process. Include it where telemetry is set up.
//
// Threads: any; one at a time sets.
#pragma once

#include "src/model/w3c.h"

namespace lens::record {

/// Which headers `inject` writes and `extract` reads, and what the process was started in. It has an effect whether
/// telemetry is on or not.
void set_process_propagation(model::Propagators propagators, Propagation started_in);
const Propagation& process_started_in() noexcept;

/// The first rank since the last call that a broadcast of this process named as its source and that had no context to
/// give; -1: none.
int take_source_without_context() noexcept;

}  // namespace lens::record
