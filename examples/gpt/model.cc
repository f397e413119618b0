// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/model.h"

#include "examples/gpt/seeds.h"
#include "lens/megatron.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace gpt {

namespace mg = lens::megatron;
using namespace lens::literals;

namespace {

constexpr double init_std = 0.02;

at::Tensor keep(at::Tensor tensor, SavedActivations* saved) {
  if (saved) saved->push_back(tensor);
  return tensor;
}

at::Tensor causal_mask(int64_t positions) {
  const auto minus_infinity = torch::full({1, positions, positions}, -std::numeric_limits<float>::infinity());
  return torch::triu(minus_infinity, 1);
}

// Weights from a normal distribution; what adds to the residual stream is scaled down with depth, so that the sum over
// the layers has the same variance whatever their number. Norms keep their ones, biases start at zero.
void init_weights(torch::nn::Module& module, const ModelShape& shape, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : module.named_parameters()) {
    const std::string_view name = parameter.key();
    if (name.ends_with("bias")) parameter.value().zero_();
    if (parameter.value().dim() < 2) continue;
    const bool into_residual = name.starts_with("attention_out") || name.starts_with("down");
    const double std = into_residual ? init_std / std::sqrt(2.0 * static_cast<double>(shape.num_layers)) : init_std;
    auto generator = at::make_generator<at::CPUGeneratorImpl>(derive_seed(seed, name));
    parameter.value().normal_(0, std, generator);
  }
}

// A layer in the graph as one operation: of its activations the input alone waits for the backward pass, where the
// others are computed once more, on the thread that autograd runs on.
class RecomputedLayer : public torch::autograd::Function<RecomputedLayer> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, TransformerLayer* layer) {
    context->save_for_backward({x});
    context->saved_data["layer"] = reinterpret_cast<int64_t>(layer);
    return layer->forward(x, nullptr);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    auto* layer = reinterpret_cast<TransformerLayer*>(context->saved_data["layer"].toInt());
    const auto x = context->get_saved_variables()[0].detach().requires_grad_(true);
    at::Tensor output;
    {
      const torch::AutoGradMode with_graph(true);
      output = layer->forward(x, nullptr, /*is_recomputation=*/true);
    }
    output.backward(gradients[0]);  // the parameters' gradients are accumulated here
    return {x.grad(), at::Tensor()};
  }
};

}  // namespace

TransformerLayer::TransformerLayer(const ModelShape& shape)
    : heads_(shape.num_attention_heads),
      causal_mask_(causal_mask(shape.max_positions)),
      attention_norm_(torch::nn::LayerNormOptions({shape.hidden_size})),
      mlp_norm_(torch::nn::LayerNormOptions({shape.hidden_size})),
      qkv_(shape.hidden_size, 3 * shape.hidden_size),
      attention_out_(shape.hidden_size, shape.hidden_size),
      up_(shape.hidden_size, 4 * shape.hidden_size),
      down_(4 * shape.hidden_size, shape.hidden_size) {
  register_module("attention_norm", attention_norm_);
  register_module("qkv", qkv_);
  register_module("attention_out", attention_out_);
  register_module("mlp_norm", mlp_norm_);
  register_module("up", up_);
  register_module("down", down_);
}

// Layers are traced as parts of a training microbatch only: evaluation and generation have one span for all they do.
at::Tensor TransformerLayer::traced(lens::Name name, auto&& body) const {
  if (!is_training()) return body();
  auto span = lens::managed_span(mg::SpanGroup::layer, name);
  if (is_recomputation_) span.set("recompute"_a = true);
  return body();
}

at::Tensor TransformerLayer::forward(const at::Tensor& x, SavedActivations* saved, bool is_recomputation) {
  is_recomputation_ = is_recomputation;
  return traced(mg::layer_forward, [&] {
    const auto mixed = traced(mg::layer_self_attention, [&] { return self_attention(keep(x, saved), saved); });
    const auto attended = keep(x + mixed, saved);
    return attended + traced(mg::layer_mlp, [&] { return mlp(attended, saved); });
  });
}

at::Tensor TransformerLayer::self_attention(const at::Tensor& x, SavedActivations* saved) {
  const int64_t samples = x.size(0), positions = x.size(1), hidden = x.size(2), head_size = hidden / heads_;
  const auto qkv = qkv_(keep(attention_norm_(x), saved)).view({samples, positions, 3, heads_, head_size});
  // [3, samples * heads, positions, head_size], copied once here so that all three are views of one saved tensor.
  const auto split = keep(qkv.permute({2, 0, 3, 1, 4}).reshape({3, samples * heads_, positions, head_size}), saved);
  const auto mask = causal_mask_.narrow(1, 0, positions).narrow(2, 0, positions);
  const double scale = 1 / std::sqrt(static_cast<double>(head_size));
  const auto scores = torch::baddbmm(mask, split[0], split[1].transpose(1, 2), /*beta=*/1, /*alpha=*/scale);
  const auto weights = keep(torch::softmax(scores, -1), saved);
  const auto mixed = torch::bmm(weights, split[2]).view({samples, heads_, positions, head_size}).transpose(1, 2);
  return attention_out_(keep(mixed.reshape({samples, positions, hidden}), saved));
}

at::Tensor TransformerLayer::mlp(const at::Tensor& x, SavedActivations* saved) {
  const auto raised = keep(up_(keep(mlp_norm_(x), saved)), saved);
  return down_(keep(torch::gelu(raised), saved));
}

Stage::Stage(const ModelShape& shape, int stage, int stages, uint64_t seed, bool recompute)
    : hidden_size_(shape.hidden_size), recompute_(recompute) {
  const auto add = [&](const std::string& name, auto module) {
    init_weights(*module, shape, derive_seed(seed, name));
    return register_module(name, module);
  };
  if (stage == 0) {
    token_embedding_ = add("token_embedding", torch::nn::Embedding(vocabulary_size, shape.hidden_size));
    position_embedding_ = add("position_embedding", torch::nn::Embedding(shape.max_positions, shape.hidden_size));
  }
  const int64_t share = shape.num_layers / stages;
  for (int64_t index = stage * share; index < (stage + 1) * share; ++index)
    layers_.push_back(add("layer_" + std::to_string(index), std::make_shared<TransformerLayer>(shape)));
  if (stage == stages - 1) {
    final_norm_ = add("final_norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({shape.hidden_size})));
    head_ = add("head", torch::nn::Linear(torch::nn::LinearOptions(shape.hidden_size, vocabulary_size).bias(false)));
  }
}

at::Tensor Stage::forward(const at::Tensor& input, SavedActivations* saved, int64_t saved_layers) {
  auto x = input;
  if (token_embedding_) x = token_embedding_(input) + position_embedding_(torch::arange(input.size(1)));
  for (const auto& layer : layers_) x = run_layer(*layer, x, saved_layers-- > 0 ? saved : nullptr);
  return head_ ? head_(final_norm_(x)) : x;
}

at::Tensor Stage::run_layer(TransformerLayer& layer, const at::Tensor& x, SavedActivations* saved) const {
  if (!recompute_ || !torch::GradMode::is_enabled()) return layer.forward(x, saved);
  return RecomputedLayer::apply(keep(x, saved), &layer);
}

}  // namespace gpt
