// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <string_view>
#include <variant>
#include <vector>

namespace gpt {
namespace {

using Integer = int64_t Arguments::*;
using Real = double Arguments::*;
using Text = std::string Arguments::*;
using Switch = bool Arguments::*;  // --name turns it on, --no-name off

struct Flag {
  std::string_view name;
  std::variant<Integer, Real, Text, Switch> field;
  double minimum;  // of a number
  std::string_view help;
};

constexpr double any = -std::numeric_limits<double>::infinity();

const Flag flags[] = {
    {"num-layers", &Arguments::num_layers, 1, "transformer layers, split evenly over the pipeline stages"},
    {"hidden-size", &Arguments::hidden_size, 1, "width of the model"},
    {"num-attention-heads", &Arguments::num_attention_heads, 1, "attention heads of a layer"},
    {"seq-length", &Arguments::seq_length, 1, "bytes of text in a sample"},
    {"max-position-embeddings", &Arguments::max_position_embeddings, 0, "positions the model knows; 0: seq-length"},
    {"pipeline-model-parallel-size", &Arguments::pipeline_model_parallel_size, 1, "pipeline stages"},
    {"micro-batch-size", &Arguments::micro_batch_size, 1, "samples that pass through the pipeline together"},
    {"global-batch-size", &Arguments::global_batch_size, 1, "samples of an iteration, over all replicas"},
    {"distributed-timeout-minutes", &Arguments::distributed_timeout_minutes, 1, "longest wait for another rank"},
    {"train-iters", &Arguments::train_iters, 0, "iterations to train"},
    {"seed", &Arguments::seed, 0, "seed of the initial weights and of the order of the data"},
    {"lr", &Arguments::lr, 0, "learning rate after warm-up"},
    {"min-lr", &Arguments::min_lr, 0, "learning rate at the end of the cosine decay"},
    {"lr-warmup-iters", &Arguments::lr_warmup_iters, 0, "iterations of linear warm-up"},
    {"weight-decay", &Arguments::weight_decay, 0, "decay of the weight matrices"},
    {"adam-beta1", &Arguments::adam_beta1, 0, "AdamW's decay of the gradient's mean"},
    {"adam-beta2", &Arguments::adam_beta2, 0, "AdamW's decay of the squared gradient's mean"},
    {"adam-eps", &Arguments::adam_eps, 0, "AdamW's term against division by zero"},
    {"clip-grad", &Arguments::clip_grad, 0, "largest norm of the gradient; 0: not clipped"},
    {"ddp-bucket-size", &Arguments::ddp_bucket_size, 1, "parameters whose gradients are reduced together"},
    {"recompute-granularity", &Arguments::recompute_granularity, any, "full: compute activations again for backward"},
    {"cpu-offloading", &Arguments::cpu_offloading, any, "keep a waiting microbatch's activations in a file"},
    {"cpu-offloading-num-layers", &Arguments::cpu_offloading_num_layers, 0, "layers of a stage to offload; 0: all"},
    {"cpu-offloading-dir", &Arguments::cpu_offloading_dir, any, "where that file lives"},
    {"data-path", &Arguments::data_path, any, "text to learn from"},
    {"valid-fraction", &Arguments::valid_fraction, 0, "share of the text that is held out for evaluation"},
    {"eval-interval", &Arguments::eval_interval, 0, "iterations between evaluations; 0: none"},
    {"eval-iters", &Arguments::eval_iters, 0, "global batches of one evaluation"},
    {"log-interval", &Arguments::log_interval, 1, "iterations between progress lines"},
    {"save", &Arguments::save, any, "directory to write checkpoints to"},
    {"load", &Arguments::load, any, "directory to resume from"},
    {"save-interval", &Arguments::save_interval, 1, "iterations between checkpoints"},
    {"prompt", &Arguments::prompt, any, "text to continue after training"},
    {"generate-tokens", &Arguments::generate_tokens, 0, "bytes to generate after training"},
    {"otel-enabled", &Arguments::otel_enabled, any, "record telemetry"},
    {"otel-service-name", &Arguments::otel_service_name, any, "the service's name in the telemetry"},
    {"otel-span-groups", &Arguments::otel_span_groups, any, "which spans to record: presets and groups, by comma"},
    {"otel-root-interval", &Arguments::otel_root_interval, 0, "iterations of a trace; 0: one trace for the run"},
    {"otel-pipeline-context", &Arguments::otel_pipeline_context, any,
     "how stages find each other's step: link to it, or adopt it as the parent of their work"},
};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row.back();
}

[[noreturn]] void throw_unknown(std::string_view name) {
  const auto& nearest =
      *std::ranges::min_element(flags, {}, [&](const Flag& f) { return edit_distance(name, f.name); });
  throw UsageError("unknown flag --" + std::string(name) + "; did you mean --" + std::string(nearest.name) + "?");
}

template <class Number>
Number parse_number(const Flag& flag, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || !std::isfinite(static_cast<double>(value)) || static_cast<double>(value) < flag.minimum) {
    std::ostringstream message;
    message << "--" << flag.name << ' ' << text << ": expected "
            << (std::is_integral_v<Number> ? "an integer" : "a number") << " of at least " << flag.minimum;
    throw UsageError(message.str());
  }
  return value;
}

struct Assign {
  Arguments& arguments;
  const Flag& flag;
  std::string_view value;

  void operator()(Integer field) const { arguments.*field = parse_number<int64_t>(flag, value); }
  void operator()(Real field) const { arguments.*field = parse_number<double>(flag, value); }
  void operator()(Text field) const { arguments.*field = value; }
  void operator()(Switch field) const { arguments.*field = true; }
};

struct Show {
  const Arguments& defaults;

  std::string operator()(Integer field) const { return std::to_string(defaults.*field); }
  std::string operator()(Real field) const { return (std::ostringstream() << defaults.*field).str(); }
  std::string operator()(Text field) const { return (defaults.*field).empty() ? "none" : '"' + defaults.*field + '"'; }
  std::string operator()(Switch field) const { return defaults.*field ? "on" : "off"; }
};

const Flag* find_flag(std::string_view name) {
  const auto* found = std::ranges::find(flags, name, &Flag::name);
  return found == std::end(flags) ? nullptr : found;
}

const Switch* find_negated_switch(std::string_view name) {
  const Flag* flag = name.starts_with("no-") ? find_flag(name.substr(3)) : nullptr;
  return flag ? std::get_if<Switch>(&flag->field) : nullptr;
}

void require(bool holds, const std::string& message) {
  if (!holds) throw UsageError(message);
}

std::string pair(std::string_view name, int64_t value) {
  return "--" + std::string(name) + ' ' + std::to_string(value);
}

}  // namespace

Arguments parse_arguments(int argc, const char* const* argv, bool& help) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      help = true;
      return arguments;
    }
    require(word.starts_with("--"), "unexpected argument " + std::string(word) + "; flags start with --");
    const auto equals = word.find('=');
    const std::string_view name = word.substr(2, equals == word.npos ? word.npos : equals - 2);
    const bool inline_value = equals != word.npos;
    if (const Switch* off = find_negated_switch(name); off && !inline_value) {
      arguments.** off = false;
      continue;
    }
    const Flag* flag = find_flag(name);
    if (!flag) throw_unknown(name);
    const bool is_switch = std::holds_alternative<Switch>(flag->field);
    require(!(is_switch && inline_value), "--" + std::string(name) + " takes no value");
    require(is_switch || inline_value || i + 1 < argc, "--" + std::string(name) + " needs a value");
    const std::string_view value = inline_value ? word.substr(equals + 1)
                                   : is_switch  ? ""
                                                : std::string_view(argv[++i]);
    std::visit(Assign{arguments, *flag, value}, flag->field);
  }
  if (arguments.max_position_embeddings == 0) arguments.max_position_embeddings = arguments.seq_length;
  return arguments;
}

void validate(const Arguments& a, int world_size) {
  const int64_t stages = a.pipeline_model_parallel_size;
  const std::string on_stages = pair("pipeline-model-parallel-size", stages);
  require(world_size % stages == 0, std::to_string(world_size) + " ranks do not divide into pipelines of " +
                                        std::to_string(stages) + "; start a multiple of " + on_stages);
  require(a.num_layers % stages == 0, pair("num-layers", a.num_layers) + " does not divide over the stages of " +
                                          on_stages + "; make it a multiple");
  require(a.hidden_size % a.num_attention_heads == 0, pair("hidden-size", a.hidden_size) + " is not a multiple of " +
                                                          pair("num-attention-heads", a.num_attention_heads));
  require(a.seq_length <= a.max_position_embeddings,
          pair("seq-length", a.seq_length) + " exceeds " + pair("max-position-embeddings", a.max_position_embeddings));
  const int64_t replicas = world_size / stages;
  const int64_t samples = a.micro_batch_size * replicas;
  require(a.global_batch_size % samples == 0,
          pair("global-batch-size", a.global_batch_size) + " is not a multiple of " +
              pair("micro-batch-size", a.micro_batch_size) + " times " + std::to_string(replicas) +
              " data-parallel ranks; use a multiple of " + std::to_string(samples));
  require(a.cpu_offloading_num_layers <= a.num_layers / stages,
          pair("cpu-offloading-num-layers", a.cpu_offloading_num_layers) + " exceeds the " +
              std::to_string(a.num_layers / stages) + " layers of a stage");
  require(a.valid_fraction < 1, "--valid-fraction must be less than 1, to leave text to train on");
  require(a.recompute_granularity.empty() || a.recompute_granularity == "full",
          "--recompute-granularity " + a.recompute_granularity + ": only full is known");
  require(a.otel_pipeline_context == "link" || a.otel_pipeline_context == "adopt",
          "--otel-pipeline-context " + a.otel_pipeline_context + ": link or adopt");
  require(a.adam_beta1 < 1 && a.adam_beta2 < 1, "--adam-beta1 and --adam-beta2 must be less than 1");
  require(a.generate_tokens == 0 || !a.prompt.empty(), "--generate-tokens needs a --prompt to continue");
}

std::string usage() {
  std::ostringstream text;
  text << "usage: gpt [flags]\n\n"
          "Trains a byte-level GPT on text, over the ranks that the environment names (RANK, WORLD_SIZE, LOCAL_RANK,\n"
          "MASTER_ADDR, MASTER_PORT; without them, one rank). A switch --name is turned off by --no-name.\n\n";
  const Arguments defaults;
  for (const Flag& flag : flags) {
    const std::string name = "  --" + std::string(flag.name);
    text << name << std::string(name.size() < 34 ? 34 - name.size() : 1, ' ') << flag.help << " ("
         << std::visit(Show{defaults}, flag.field) << ")\n";
  }
  return text.str();
}

}  // namespace gpt
