// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/grad_sync.h"
#include "lens/megatron.h"

#include <torch/csrc/autograd/function_hook.h>

#include <ranges>
#include <utility>

namespace gpt {

namespace mg = lens::megatron;

// Runs after a parameter's gradient has been accumulated, on the thread that called backward.
class GradSync::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(GradSync& sync, Bucket& bucket) : sync_(sync), bucket_(bucket) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    sync_.on_accumulated(bucket_);
    return outputs;
  }

 private:
  GradSync& sync_;
  Bucket& bucket_;
};

GradSync::GradSync(const std::vector<at::Tensor>& parameters, const Group& data, int64_t bucket_size) : data_(data) {
  std::vector<at::Tensor> pending;
  int64_t size = 0;
  for (const auto& parameter : parameters | std::views::reverse) {
    pending.push_back(parameter);
    size += parameter.numel();
    if (size >= bucket_size) {
      add_bucket(std::exchange(pending, {}));
      size = 0;
    }
  }
  if (!pending.empty()) add_bucket(std::move(pending));
}

GradSync::~GradSync() = default;

void GradSync::add_bucket(std::vector<at::Tensor> parameters) {
  int64_t size = 0;
  for (const auto& parameter : parameters) size += parameter.numel();
  auto& bucket = *buckets_.emplace_back(std::make_unique<Bucket>());
  bucket.gradients = torch::zeros(size);
  bucket.parameters = std::move(parameters);
  int64_t offset = 0;
  for (auto& parameter : bucket.parameters) {
    parameter.mutable_grad() = bucket.gradients.narrow(0, offset, parameter.numel()).view_as(parameter);
    offset += parameter.numel();
    auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
    accumulator->add_post_hook(std::make_unique<Hook>(*this, bucket));
    accumulators_.push_back(std::move(accumulator));  // the parameter itself holds only a weak reference
  }
}

void GradSync::zero() {
  step_ = lens::current_context();
  for (auto& bucket : buckets_) bucket->gradients.zero_();
}

void GradSync::expect_last() {
  for (auto& bucket : buckets_) bucket->missing = bucket->parameters.size();
  last_ = true;
}

void GradSync::on_accumulated(Bucket& bucket) {
  if (last_ && --bucket.missing == 0) start(bucket);
}

void GradSync::start(Bucket& bucket) {
  auto span = lens::managed_span(mg::SpanGroup::communication, mg::grad_sync_start, {.parent = step_});
  bucket.gradients.div_(data_.size());
  bucket.reducing = data_.start_all_reduce_sum(bucket.gradients);
}

void GradSync::finish() {
  auto span = lens::managed_span(mg::SpanGroup::communication, mg::grad_sync_finish);
  last_ = false;
  for (auto& bucket : buckets_) {
    TORCH_CHECK(bucket->reducing, "the last backward pass did not reach every parameter");
    data_.attempt("all-reduce of gradients", [&] { std::exchange(bucket->reducing, {})->wait(); });
  }
}

at::Tensor GradSync::squared_norm() const {
  auto sum = torch::zeros({1}, torch::kFloat64);
  for (const auto& bucket : buckets_) sum += bucket->gradients.square().sum(torch::kFloat64);
  return sum;
}

void GradSync::scale(double factor) {
  for (auto& bucket : buckets_) bucket->gradients.mul_(factor);
}

}  // namespace gpt
