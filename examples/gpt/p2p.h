// SPDX-License-Identifier: Apache-2.0
// Activations and gradients on their way between neighbouring pipeline stages.
#pragma once

#include "examples/gpt/parallel.h"

#include <ATen/core/Tensor.h>

#include <string>

namespace gpt {

// The two neighbours of a stage. Receives block until the tensor is here. Sends return once the tensor is queued, so
// that two stages that send to each other cannot wait for each other; the tensor is kept until it has left, which the
// next send in that direction, or flush, waits for. Towards a neighbour that the first or the last stage does not
// have, a send does nothing and a receive gives an undefined tensor.
//
// Errors: std::runtime_error naming the operation and the neighbour when that is gone or the time-out has passed.
class PipelineLink {
 public:
  PipelineLink(const Layout& layout, const Group& pipeline);

  bool has_previous() const { return stage_ > 0; }
  bool has_next() const { return stage_ < last_stage_; }

  at::Tensor receive_activations(at::IntArrayRef shape);
  at::Tensor receive_gradients(at::IntArrayRef shape);
  void send_activations(const at::Tensor& activations);
  void send_gradients(const at::Tensor& gradients);
  void flush();

 private:
  struct Direction {
    int tag;
    int step;  // from the sender's stage to the receiver's
    const char* what;
    c10::intrusive_ptr<c10d::Work> sending;
  };

  at::Tensor receive(const Direction& direction, at::IntArrayRef shape);
  void send(Direction& direction, const at::Tensor& tensor);
  void await_sent(Direction& direction);
  void run(const Direction& direction, const char* verb, int peer, auto&& operation);

  const Layout& layout_;
  const Group& pipeline_;
  int stage_;
  int last_stage_;
  Direction activations_{0, +1, "activations", {}};
  Direction gradients_{1, -1, "gradients", {}};
};

}  // namespace gpt
