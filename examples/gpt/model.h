// SPDX-License-Identifier: Apache-2.0
// The model: a GPT over bytes, of which each pipeline stage holds its share.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lens/span.h"

namespace gpt {

constexpr int64_t vocabulary_size = 256;  // a token is a byte

struct ModelShape {
  int64_t num_layers;
  int64_t hidden_size;
  int64_t num_attention_heads;
  int64_t max_positions;
};

// Tensors that the backward pass will read again. A layer lists them as it computes, so that they can be moved away
// until then; parameters and small statistics are not among them.
using SavedActivations = std::vector<at::Tensor>;

// A pre-norm transformer layer: x + attention(norm(x)), then x + mlp(norm(x)).
class TransformerLayer : public torch::nn::Module {
 public:
  explicit TransformerLayer(const ModelShape& shape);

  // x: [samples, positions, hidden_size], and so is the result. Appends to saved unless it is null. The second time
  // for one backward pass, spans say that they are a recomputation.
  at::Tensor forward(const at::Tensor& x, SavedActivations* saved, bool is_recomputation = false);

 private:
  at::Tensor traced(lens::Name name, auto&& body) const;
  at::Tensor self_attention(const at::Tensor& x, SavedActivations* saved);
  at::Tensor mlp(const at::Tensor& x, SavedActivations* saved);

  int64_t heads_;
  bool is_recomputation_ = false;
  at::Tensor causal_mask_;  // [1, positions, positions]: 0 where a position may look, else minus infinity
  torch::nn::LayerNorm attention_norm_, mlp_norm_;
  torch::nn::Linear qkv_, attention_out_, up_, down_;
};

// One pipeline stage: the embeddings on the first, an equal share of the layers on each, norm and head on the last.
//
// The initial weights depend on the seed, the layer and the parameter's name only, so that every division into stages
// starts from the same model.
class Stage : public torch::nn::Module {
 public:
  // With recompute, layers keep only their input for the backward pass and compute the rest again there.
  Stage(const ModelShape& shape, int stage, int stages, uint64_t seed, bool recompute = false);

  // input: tokens [samples, positions] on the first stage, elsewhere the previous stage's result. Gives logits
  // [samples, positions, vocabulary_size] on the last stage, elsewhere [samples, positions, hidden_size].
  // The first saved_layers layers append to saved unless it is null.
  at::Tensor forward(const at::Tensor& input, SavedActivations* saved = nullptr, int64_t saved_layers = 0);

  int64_t num_layers() const { return static_cast<int64_t>(layers_.size()); }
  int64_t hidden_size() const { return hidden_size_; }

 private:
  at::Tensor run_layer(TransformerLayer& layer, const at::Tensor& x, SavedActivations* saved) const;

  int64_t hidden_size_;
  bool recompute_;
  torch::nn::Embedding token_embedding_{nullptr}, position_embedding_{nullptr};
  std::vector<std::shared_ptr<TransformerLayer>> layers_;
  torch::nn::LayerNorm final_norm_{nullptr};
  torch::nn::Linear head_{nullptr};
};

}  // namespace gpt
