// SPDX-License-Identifier: Apache-2.0
// The gradients of a stage, averaged over its replicas while the last backward pass is still running.
#pragma once

#include "examples/gpt/parallel.h"

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "lens/context.h"

namespace gpt {

// Gradients live in a few flat buffers (buckets), filled from the model's end to its beginning as the backward pass
// is. When the last microbatch's backward has accumulated into every parameter of a bucket, its all-reduce starts, and
// goes on beside the rest of that backward pass.
//
// Per iteration, within the step's span: zero; backward passes; expect_last; the last backward pass; finish.
class GradSync {
 public:
  // bucket_size is in parameters. Outlives every backward pass of the parameters.
  GradSync(const std::vector<at::Tensor>& parameters, const Group& data, int64_t bucket_size);
  ~GradSync();
  GradSync(const GradSync&) = delete;
  GradSync& operator=(const GradSync&) = delete;

  void zero();
  void expect_last();
  void finish();

  // The sum of the squares of this stage's gradients; after finish, the same on every replica.
  at::Tensor squared_norm() const;
  void scale(double factor);

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    at::Tensor gradients;  // flat; each parameter's grad is a view of it
    size_t missing = 0;    // parameters that the last backward has not reached yet
    c10::intrusive_ptr<c10d::Work> reducing;
  };
  class Hook;

  void add_bucket(std::vector<at::Tensor> parameters);
  void on_accumulated(Bucket& bucket);
  void start(Bucket& bucket);

  const Group& data_;
  std::vector<std::unique_ptr<Bucket>> buckets_;  // hooks refer to them
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
  lens::SpanContext step_;  // reductions are the step's work, not the backward pass's that they run beside
  bool last_ = false;
};

}  // namespace gpt
