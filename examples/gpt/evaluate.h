// SPDX-License-Identifier: Apache-2.0
// How well the model does on text that it has not seen.
#pragma once

#include "examples/gpt/parallel.h"
#include "examples/gpt/schedule.h"

namespace gpt {

// The mean of a value over the replicas of the last stage, on every rank. Collective; other stages pass zero.
double mean_over_replicas(double value, const Layout& layout, const Group& world);

// The mean loss over eval_iters global batches of held-out text, the same ones each time. Collective.
double evaluate(Schedule& schedule, const Sampler& held_out, const Arguments& arguments, const Layout& layout,
                const Group& world);

}  // namespace gpt
