// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/schedule.h"
#include "lens/megatron.h"
#include "lens/propagation.h"

#include <algorithm>

namespace gpt {

namespace mg = lens::megatron;
namespace {

// A microbatch that is followed at once by its own backward pass, as all are on the last stage, has nothing to gain.
int64_t layers_to_offload(const Arguments& arguments, const Stage& stage, int64_t num_warmup) {
  if (!arguments.cpu_offloading || num_warmup == 0) return 0;
  return arguments.cpu_offloading_num_layers > 0 ? arguments.cpu_offloading_num_layers : stage.num_layers();
}

}  // namespace

Schedule::Schedule(const Arguments& arguments, const Layout& layout, Stage& stage, PipelineLink& link,
                   GradSync& gradients)
    : arguments_(arguments),
      layout_(layout),
      stage_(stage),
      link_(link),
      gradients_(gradients),
      num_microbatches_(arguments.global_batch_size / (arguments.micro_batch_size * layout.data_size)),
      num_warmup_(std::min<int64_t>(layout.pipeline_size - 1 - layout.stage(), num_microbatches_)),
      adopts_step_(arguments.otel_pipeline_context == "adopt"),
      offloaded_layers_(layers_to_offload(arguments, stage, num_warmup_)),
      activation_shape_{arguments.micro_batch_size, arguments.seq_length, arguments.hidden_size} {}

double Schedule::forward_backward(const Sampler& samples, int64_t first_sample) {
  auto span = lens::adopt_span(mg::SpanGroup::forward_backward, mg::forward_backward, step_to_adopt(),
                               mg::num_microbatches = num_microbatches_);
  double loss = 0;
  for (int64_t microbatch = 0; microbatch < num_microbatches_; ++microbatch) {
    loss += forward_step(samples, first_sample, microbatch);
    if (microbatch >= num_warmup_) backward_step(microbatch - num_warmup_);
  }
  for (int64_t microbatch = num_microbatches_ - num_warmup_; microbatch < num_microbatches_; ++microbatch)
    backward_step(microbatch);
  link_.flush();
  return loss;
}

double Schedule::forward_only(const Sampler& samples, int64_t first_sample) {
  const torch::NoGradGuard no_grad;
  stage_.eval();
  double loss = 0;
  for (int64_t microbatch = 0; microbatch < num_microbatches_; ++microbatch) {
    const auto input = link_.receive_activations(activation_shape_);
    const auto output = run_stage(input, draw_batch(samples, first_sample, microbatch), nullptr);
    link_.send_activations(output);
    loss += loss_of(output);
  }
  link_.flush();
  stage_.train();
  return loss;
}

double Schedule::forward_step(const Sampler& samples, int64_t first_sample, int64_t microbatch) {
  InFlight flight{.input = recv_forward(microbatch), .output = {}, .offloaded = {}};
  if (flight.input.defined()) flight.input.requires_grad_(true);
  const Batch batch = get_batch(samples, first_sample, microbatch);
  SavedActivations saved;
  {
    auto span = lens::managed_span(mg::SpanGroup::microbatch, mg::microbatch_forward, mg::microbatch_id = microbatch);
    flight.output = run_stage(flight.input, batch, offloaded_layers_ > 0 ? &saved : nullptr);
  }
  send_forward(flight.output);
  if (offloaded_layers_ > 0) flight.offloaded = OffloadedActivations::offload(saved, arguments_.cpu_offloading_dir);
  const double loss = loss_of(flight.output);
  in_flight_.push_back(std::move(flight));
  return loss;
}

void Schedule::backward_step(int64_t microbatch) {
  InFlight flight = std::move(in_flight_.front());
  in_flight_.pop_front();
  const auto output_gradient = recv_backward();
  if (offloaded_layers_ > 0) flight.offloaded.reload();
  if (microbatch == num_microbatches_ - 1) gradients_.expect_last();
  {
    auto span = lens::managed_span(mg::SpanGroup::microbatch, mg::microbatch_backward);
    flight.output.backward(output_gradient);
  }
  if (flight.input.defined()) send_backward(flight.input.grad());
}

// The loss is divided by the number of microbatches, so that their gradients add up to the mean's.
at::Tensor Schedule::run_stage(const at::Tensor& input, const Batch& batch, SavedActivations* saved) {
  const auto output = stage_.forward(layout_.is_first_stage() ? batch.tokens : input, saved, offloaded_layers_);
  if (!layout_.is_last_stage()) return output;
  return torch::nn::functional::cross_entropy(output.flatten(0, 1), batch.targets.flatten()) / num_microbatches_;
}

double Schedule::loss_of(const at::Tensor& output) const { return layout_.is_last_stage() ? output.item<double>() : 0; }

Batch Schedule::draw_batch(const Sampler& samples, int64_t first_sample, int64_t microbatch) const {
  const int64_t share = microbatch * layout_.data_size + layout_.replica();
  return samples.batch(first_sample + share * arguments_.micro_batch_size, arguments_.micro_batch_size);
}

// Only the first stage reads tokens and only the last reads targets.
Batch Schedule::get_batch(const Sampler& samples, int64_t first_sample, int64_t microbatch) const {
  if (!layout_.is_first_stage() && !layout_.is_last_stage()) return {};
  auto span = lens::managed_span(mg::SpanGroup::data_loading, mg::data_loading_get_batch);
  return draw_batch(samples, first_sample, microbatch);
}

// None where the work of the step stays below this rank's own step: when receives link instead.
lens::SpanContext Schedule::step_to_adopt() const {
  return adopts_step_ ? lens::get_pp_trace_carrier() : lens::SpanContext{};
}

// Until its first backward pass a stage waits for the pipeline to fill: those receives link to the step that fills it.
at::Tensor Schedule::recv_forward(int64_t microbatch) {
  if (!link_.has_previous()) return {};
  if (microbatch <= num_warmup_ && !adopts_step_) {
    auto span =
        lens::create_linked_span(mg::SpanGroup::communication, mg::pp_recv_forward_linked, lens::get_pp_trace_carrier(),
                                 mg::pipeline_parallel_rank = layout_.stage(), mg::dl_microbatch_id = microbatch);
    return link_.receive_activations(activation_shape_);
  }
  auto span = lens::managed_span(mg::SpanGroup::communication, mg::p2p_recv_forward);
  return link_.receive_activations(activation_shape_);
}

void Schedule::send_forward(const at::Tensor& output) {
  if (!link_.has_next()) return;
  auto span = lens::managed_span(mg::SpanGroup::communication, mg::p2p_send_forward);
  link_.send_activations(output.detach());
}

at::Tensor Schedule::recv_backward() {
  if (!link_.has_next()) return {};
  auto span = lens::managed_span(mg::SpanGroup::communication, mg::p2p_recv_backward);
  return link_.receive_gradients(activation_shape_);
}

void Schedule::send_backward(const at::Tensor& gradient) {
  if (!link_.has_previous()) return;
  auto span = lens::managed_span(mg::SpanGroup::communication, mg::p2p_send_backward);
  link_.send_gradients(gradient);
}

}  // namespace gpt
