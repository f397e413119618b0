// SPDX-License-Identifier: Apache-2.0
// The whole run: build the model, resume, train, evaluate, save, generate.
#pragma once

#include "examples/gpt/arguments.h"
#include "examples/gpt/parallel.h"

namespace gpt {

// Throws std::runtime_error naming what failed.
void pretrain(const Arguments& arguments, const Layout& layout);

}  // namespace gpt
