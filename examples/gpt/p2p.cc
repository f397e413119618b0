// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/p2p.h"

#include "examples/gpt/errors.h"

#include <torch/torch.h>

#include <stdexcept>
#include <vector>

namespace gpt {

PipelineLink::PipelineLink(const Layout& layout, const Group& pipeline)
    : layout_(layout), pipeline_(pipeline), stage_(layout.stage()), last_stage_(layout.pipeline_size - 1) {}

at::Tensor PipelineLink::receive_activations(at::IntArrayRef shape) { return receive(activations_, shape); }
at::Tensor PipelineLink::receive_gradients(at::IntArrayRef shape) { return receive(gradients_, shape); }
void PipelineLink::send_activations(const at::Tensor& activations) { send(activations_, activations); }
void PipelineLink::send_gradients(const at::Tensor& gradients) { send(gradients_, gradients); }

void PipelineLink::flush() {
  await_sent(activations_);
  await_sent(gradients_);
}

at::Tensor PipelineLink::receive(const Direction& direction, at::IntArrayRef shape) {
  const int peer = stage_ - direction.step;
  if (peer < 0 || peer > last_stage_) return {};
  std::vector<at::Tensor> tensors{torch::empty(shape)};
  run(direction, "receiving", peer, [&] { pipeline_.process_group().recv(tensors, peer, direction.tag)->wait(); });
  return tensors[0];
}

void PipelineLink::send(Direction& direction, const at::Tensor& tensor) {
  const int peer = stage_ + direction.step;
  if (peer < 0 || peer > last_stage_) return;
  await_sent(direction);
  std::vector<at::Tensor> tensors{tensor.contiguous()};
  run(direction, "sending", peer,
      [&] { direction.sending = pipeline_.process_group().send(tensors, peer, direction.tag); });
}

void PipelineLink::await_sent(Direction& direction) {
  if (!direction.sending) return;
  run(direction, "sending", stage_ + direction.step, [&] { direction.sending->wait(); });
  direction.sending.reset();
}

void PipelineLink::run(const Direction& direction, const char* verb, int peer, auto&& operation) {
  try {
    operation();
  } catch (const std::exception& error) {
    const bool to_peer = peer == stage_ + direction.step;
    throw std::runtime_error(std::string(verb) + ' ' + direction.what + (to_peer ? " to" : " from") + " rank " +
                             std::to_string(layout_.rank_of_stage(peer)) + " failed; is it gone? " + message_of(error));
  }
}

}  // namespace gpt
