// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/evaluate.h"
#include "lens/megatron.h"

#include <torch/torch.h>

namespace gpt {

namespace mg = lens::megatron;

double mean_over_replicas(double value, const Layout& layout, const Group& world) {
  auto sum = torch::full({1}, value, torch::kFloat64);
  world.all_reduce_sum(sum);
  return sum.item<double>() / layout.data_size;
}

double evaluate(Schedule& schedule, const Sampler& held_out, const Arguments& arguments, const Layout& layout,
                const Group& world) {
  auto span = lens::managed_span(mg::SpanGroup::evaluate, mg::evaluate, mg::eval_iters = arguments.eval_iters,
                                 mg::goodput = true);
  double loss = 0;
  for (int64_t step = 0; step < arguments.eval_iters; ++step) {
    auto step_span = lens::managed_span(mg::SpanGroup::evaluate, mg::evaluate_step);
    loss += schedule.forward_only(held_out, step * arguments.global_batch_size);
  }
  return mean_over_replicas(loss, layout, world) / static_cast<double>(arguments.eval_iters);
}

}  // namespace gpt
