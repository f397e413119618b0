// SPDX-License-Identifier: Apache-2.0
// From averaged gradients to new weights: the learning rate's schedule, gradient clipping, AdamW.
#pragma once

#include "examples/gpt/arguments.h"
#include "examples/gpt/grad_sync.h"
#include "examples/gpt/parallel.h"

#include <torch/torch.h>

namespace gpt {

// Linear warm-up to lr, then a cosine down to min_lr at train_iters. The first iteration is 1.
double learning_rate(const Arguments& arguments, int64_t iteration);

class Optimizer {
 public:
  struct Step {
    double grad_norm;  // of the whole model, before clipping
    bool updated;      // false: the gradient was not finite, and the weights are as they were
  };

  Optimizer(const Arguments& arguments, const std::vector<at::Tensor>& parameters, GradSync& gradients,
            const Group& pipeline);

  // Collective over the pipeline's stages, because the norm is that of all of them.
  Step step(double learning_rate);

  torch::optim::AdamW& adam() { return adam_; }

 private:
  double global_norm() const;
  void update(double norm, double learning_rate);

  GradSync& gradients_;
  const Group& pipeline_;
  double clip_grad_;
  torch::optim::AdamW adam_;
};

}  // namespace gpt
