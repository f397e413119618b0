// SPDX-License-Identifier: Apache-2.0
// The whole run: build the model, resume, train, evaluate, save, generate.
#pragma once

#include "examples/gpt/arguments.h"
#include "examples/gpt/parallel.h"

namespace gpt {

// Collective. traced says whether the job records telemetry on any rank, so it is the same on all of them. Throws
// std::runtime_error naming what failed.
void pretrain(const Arguments& arguments, const Layout& layout, bool traced);

}  // namespace gpt
