// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/category.h"

#include <algorithm>
#include <iterator>

namespace lens::analyze {
namespace {

struct Rule {
  std::string_view text;
  Category category;
};

// The first prefix that fits decides, so the narrower ones stand first.
constexpr Rule megatron_prefixes[] = {
    {"megatron.p2p.", Category::communication},
    {"megatron.pp.", Category::communication},
    {"megatron.grad_sync.", Category::communication},
    {"megatron.microbatch.forward", Category::forward},
    {"megatron.microbatch.backward", Category::backward},
    {"megatron.layer.", Category::forward},
    {"megatron.forward_backward", Category::forward_backward},
    {"megatron.train.iteration.forward_backward", Category::forward_backward},
    {"megatron.optimizer_step", Category::optimizer},
    {"megatron.train.iteration.optimizer", Category::optimizer},
    {"megatron.data_loading.", Category::data},
    {"megatron.", Category::rest},
};

constexpr Rule last_words[] = {
    {"forward", Category::forward},
    {"backward", Category::backward},
    {"forward_backward", Category::forward_backward},
    {"all_reduce", Category::communication},
    {"allreduce", Category::communication},
    {"all_gather", Category::communication},
    {"reduce_scatter", Category::communication},
    {"broadcast", Category::communication},
    {"send", Category::communication},
    {"recv", Category::communication},
    {"communication", Category::communication},
    {"optimizer", Category::optimizer},
    {"optimizer_step", Category::optimizer},
    {"data", Category::data},
    {"data_loading", Category::data},
    {"get_batch", Category::data},
};

std::string_view last_word(std::string_view name) { return name.substr(name.find_last_of("./: ") + 1); }

}  // namespace

std::string_view to_string(Category category) {
  constexpr std::string_view names[] = {"forward", "backward", "forward_backward", "communication", "optimizer",
                                        "data",    "rest"};
  return names[index(category)];
}

Category category_of(std::string_view span_name) {
  auto prefix =
      std::ranges::find_if(megatron_prefixes, [&](const Rule& rule) { return span_name.starts_with(rule.text); });
  if (prefix != std::end(megatron_prefixes)) return prefix->category;
  auto word = std::ranges::find(last_words, last_word(span_name), &Rule::text);
  return word == std::end(last_words) ? Category::rest : word->category;
}

int step_preference(std::string_view span_name) {
  constexpr std::string_view exact[] = {"megatron.train_step", "megatron.train.iteration", "train_step"};
  auto found = std::ranges::find(exact, span_name);
  if (found != std::end(exact)) return static_cast<int>(found - std::begin(exact));
  if (span_name.find("eval") != std::string_view::npos) return no_step;
  std::string_view word = last_word(span_name);
  if (word == "train_step") return 3;
  return word == "step" ? 4 : no_step;
}

}  // namespace lens::analyze
