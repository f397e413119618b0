// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/optimizer.h"
#include "lens/megatron.h"

#include <cmath>
#include <numbers>

namespace gpt {

namespace mg = lens::megatron;
namespace {

// Weight decay is for matrices; norms and biases have one dimension.
std::vector<torch::optim::OptimizerParamGroup> parameter_groups(const Arguments& arguments,
                                                                const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> decayed, others;
  for (const auto& parameter : parameters) (parameter.dim() > 1 ? decayed : others).push_back(parameter);
  const auto options = [&](double weight_decay) {
    auto adam = std::make_unique<torch::optim::AdamWOptions>(arguments.lr);
    adam->betas({arguments.adam_beta1, arguments.adam_beta2}).eps(arguments.adam_eps).weight_decay(weight_decay);
    return adam;
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::move(decayed), options(arguments.weight_decay));
  groups.emplace_back(std::move(others), options(0));
  return groups;
}

}  // namespace

double learning_rate(const Arguments& arguments, int64_t iteration) {
  const auto at = static_cast<double>(iteration), warmup = static_cast<double>(arguments.lr_warmup_iters);
  if (at <= warmup) return arguments.lr * at / warmup;
  const double remaining = static_cast<double>(arguments.train_iters) - warmup;
  const double progress = std::min(1.0, (at - warmup) / remaining);
  return arguments.min_lr + (arguments.lr - arguments.min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

Optimizer::Optimizer(const Arguments& arguments, const std::vector<at::Tensor>& parameters, GradSync& gradients,
                     const Group& pipeline)
    : gradients_(gradients),
      pipeline_(pipeline),
      clip_grad_(arguments.clip_grad),
      adam_(parameter_groups(arguments, parameters)) {}

Optimizer::Step Optimizer::step(double learning_rate) {
  auto span = lens::managed_span(mg::SpanGroup::optimizer, mg::optimizer_step);
  const double norm = global_norm();
  const bool finite = std::isfinite(norm);
  if (finite) update(norm, learning_rate);
  span.set(mg::grad_norm = norm, mg::update_successful = finite);
  return {norm, finite};
}

double Optimizer::global_norm() const {
  auto squared = gradients_.squared_norm();
  pipeline_.all_reduce_sum(squared);
  return std::sqrt(squared.item<double>());
}

void Optimizer::update(double norm, double learning_rate) {
  if (clip_grad_ > 0 && norm > clip_grad_) gradients_.scale(clip_grad_ / norm);
  for (auto& group : adam_.param_groups()) group.options().set_lr(learning_rate);
  adam_.step();
}

}  // namespace gpt
