// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/generate.h"

#include <algorithm>

namespace gpt {

namespace {

// The likeliest byte after the text, known to every stage. Each byte costs a whole forward pass over what the model
// can see of the text: at this size, clearer than a cache of keys and values.
char next_byte(const std::string& text, const Arguments& arguments, const Layout& layout, Stage& stage,
               PipelineLink& link, const Group& pipeline) {
  const auto length = std::min(static_cast<int64_t>(text.size()), arguments.seq_length);
  auto input = link.receive_activations({1, length, arguments.hidden_size});
  if (layout.is_first_stage()) {
    const auto* seen = text.data() + text.size() - length;
    input = torch::from_blob(const_cast<char*>(seen), {1, length}, torch::kUInt8).to(torch::kInt64);
  }
  const auto output = stage.forward(input);
  auto token = torch::zeros({1}, torch::kInt64);
  if (layout.is_last_stage()) token = output[0][-1].argmax().view(1);
  link.send_activations(output);
  pipeline.broadcast(token, layout.pipeline_size - 1);
  link.flush();
  return static_cast<char>(token.item<int64_t>());
}

}  // namespace

std::string generate(const Arguments& arguments, const Layout& layout, Stage& stage, PipelineLink& link,
                     const Group& pipeline) {
  const torch::NoGradGuard no_grad;
  stage.eval();
  std::string text = arguments.prompt;
  for (int64_t i = 0; i < arguments.generate_tokens; ++i)
    text += next_byte(text, arguments, layout, stage, link, pipeline);
  return text;
}

}  // namespace gpt
