// SPDX-License-Identifier: Apache-2.0
// What the trainer's telemetry is called, what it records, and what it says of the run as a whole.
#pragma once

#include "examples/gpt/arguments.h"
#include "examples/gpt/parallel.h"
#include "lens/config.h"
#include "lens/resource.h"
#include "lens/span.h"

namespace gpt {

// The environment's MEGATRON_OTEL_* and NEMO_LENS_* variables; flags win. Throws std::invalid_argument naming a
// malformed variable.
lens::Config telemetry_config(const Arguments& arguments);

// The model, the batch and this rank's place, sent once with everything that the rank records.
lens::ResourceAttributes resource_attributes(const Arguments& arguments, const Layout& layout);

// When the process was started: what came before telemetry belongs to the run too.
lens::SystemTime process_start();

// What launchers end a rank with, SIGTERM and SIGINT, first sends what has been recorded, then does what it always did.
void drain_on_termination();

}  // namespace gpt
