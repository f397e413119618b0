// SPDX-License-Identifier: Apache-2.0
// Microbatches through the pipeline: 1F1B for training, forward only for evaluation.
#pragma once

#include "examples/gpt/arguments.h"
#include "examples/gpt/dataset.h"
#include "examples/gpt/grad_sync.h"
#include "examples/gpt/model.h"
#include "examples/gpt/offload.h"
#include "examples/gpt/p2p.h"
#include "examples/gpt/parallel.h"

#include <deque>

namespace gpt {

// The microbatches of one rank. Of a global batch, whose samples are numbered through the whole run, the replicas take
// a microbatch each in turn.
class Schedule {
 public:
  Schedule(const Arguments& arguments, const Layout& layout, Stage& stage, PipelineLink& link, GradSync& gradients);

  int64_t num_microbatches() const { return num_microbatches_; }

  // The forward and backward passes of one global batch: as many forward passes ahead as there are stages behind this
  // one, then a forward and a backward pass in turn, then the backward passes left. Gradients are accumulated, and
  // their reduction is under way when it returns. Gives the mean loss of this replica's samples on the last stage,
  // zero elsewhere.
  double forward_backward(const Sampler& samples, int64_t first_sample);

  // The loss of one global batch, without gradients and without spans of its parts; as above.
  double forward_only(const Sampler& samples, int64_t first_sample);

 private:
  struct InFlight {
    at::Tensor input;   // the previous stage's activations
    at::Tensor output;  // for the next stage; on the last stage, this microbatch's share of the loss
    OffloadedActivations offloaded;
  };

  double forward_step(const Sampler& samples, int64_t first_sample, int64_t microbatch);
  void backward_step(int64_t microbatch);
  double loss_of(const at::Tensor& output) const;
  at::Tensor run_stage(const at::Tensor& input, const Batch& batch, SavedActivations* saved);
  Batch draw_batch(const Sampler& samples, int64_t first_sample, int64_t microbatch) const;
  Batch get_batch(const Sampler& samples, int64_t first_sample, int64_t microbatch) const;

  lens::SpanContext step_to_adopt() const;
  at::Tensor recv_forward(int64_t microbatch);
  void send_forward(const at::Tensor& output);
  at::Tensor recv_backward();
  void send_backward(const at::Tensor& gradient);

  const Arguments& arguments_;
  const Layout& layout_;
  Stage& stage_;
  PipelineLink& link_;
  GradSync& gradients_;
  int64_t num_microbatches_;
  int64_t num_warmup_;
  bool adopts_step_;
  int64_t offloaded_layers_;
  std::vector<int64_t> activation_shape_;
  std::deque<InFlight> in_flight_;
};

}  // namespace gpt
