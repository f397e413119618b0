// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/evaluate.h"

#include <torch/torch.h>

namespace gpt {

double mean_over_replicas(double value, const Layout& layout, const Group& world) {
  auto sum = torch::full({1}, value, torch::kFloat64);
  world.all_reduce_sum(sum);
  return sum.item<double>() / layout.data_size;
}

double evaluate(Schedule& schedule, const Sampler& held_out, const Arguments& arguments, const Layout& layout,
                const Group& world) {
  double loss = 0;
  for (int64_t step = 0; step < arguments.eval_iters; ++step)
    loss += schedule.forward_only(held_out, step * arguments.global_batch_size);
  return mean_over_replicas(loss, layout, world) / static_cast<double>(arguments.eval_iters);
}

}  // namespace gpt
