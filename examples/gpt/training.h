// SPDX-License-Identifier: Apache-2.0
// The whole run: build the model, resume, train, evaluate, save, generate.
#pragma once

#include "examples/gpt/arguments.h"
#include "examples/gpt/parallel.h"
#include "lens/span.h"

namespace gpt {

struct Tracing {
  bool enabled = false;    // in the job: the same on every rank, so that collectives may depend on it
  bool exporting = false;  // on this rank
  lens::SystemTime process_start;
};

// Collective. Throws std::runtime_error naming what failed.
void pretrain(const Arguments& arguments, const Layout& layout, const Tracing& tracing);

}  // namespace gpt
