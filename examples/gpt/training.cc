// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/training.h"

#include "examples/gpt/checkpoint.h"
#include "examples/gpt/dataset.h"
#include "examples/gpt/evaluate.h"
#include "examples/gpt/generate.h"
#include "examples/gpt/optimizer.h"
#include "examples/gpt/schedule.h"
#include "lens/c10d.h"
#include "lens/megatron.h"
#include "lens/propagation.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

namespace gpt {

namespace mg = lens::megatron;

namespace {

using Clock = std::chrono::steady_clock;

// Everything that a run holds, made in the order in which it depends on each other.
class Trainer {
 public:
  Trainer(const Arguments& arguments, const Layout& layout, const Groups& groups, const Tracing& tracing)
      : arguments_(arguments),
        layout_(layout),
        groups_(groups),
        context_source_(find_context_source(layout, groups, tracing)),
        link_(layout, groups.pipeline),
        stage_(make_stage(arguments, layout)),
        gradients_(stage_->parameters(), groups.data, arguments.ddp_bucket_size),
        optimizer_(arguments, stage_->parameters(), gradients_, groups.pipeline),
        schedule_(arguments, layout, *stage_, link_, gradients_),
        state_{*stage_, optimizer_.adam(), arguments.seed} {}

  void load();
  /// `startup` is the span that the first trace of the training links to, if the run has several.
  void train(const lens::SpanContext& startup);
  /// Links to the last trace of the training, if the run has several.
  void generate_text();

 private:
  struct StepResult {
    double loss;
    Optimizer::Step update;
    double learning_rate;
  };

  static std::shared_ptr<Stage> make_stage(const Arguments& arguments, const Layout& layout);

  static int find_context_source(const Layout& layout, const Groups& groups, const Tracing& tracing);

  void open_data();
  void train_to(int64_t iteration);
  StepResult train_step();
  void share_step_context(lens::ScopedSpan& step);
  void log(const StepResult& step);
  void evaluate_and_log();
  void save();
  bool evaluates() const { return arguments_.eval_interval > 0 && arguments_.eval_iters > 0; }
  bool is_due(int64_t interval) const;

  const Arguments& arguments_;
  const Layout& layout_;
  const Groups& groups_;
  int context_source_;  // the stage whose step the receives of the others link to; -1: none of this pipeline exports
  PipelineLink link_;
  std::shared_ptr<Stage> stage_;
  GradSync gradients_;
  Optimizer optimizer_;
  Schedule schedule_;
  TrainingState state_;
  std::optional<Dataset> data_;
  lens::SpanContext previous_root_;  // of the traces of the run so far
  Clock::time_point last_log_ = Clock::now();
};

std::shared_ptr<Stage> Trainer::make_stage(const Arguments& arguments, const Layout& layout) {
  const ModelShape shape{arguments.num_layers, arguments.hidden_size, arguments.num_attention_heads,
                         arguments.max_position_embeddings};
  return std::make_shared<Stage>(shape, layout.stage(), layout.pipeline_size, static_cast<uint64_t>(arguments.seed),
                                 arguments.recompute_granularity == "full");
}

void Trainer::load() { load_checkpoint(arguments_.load, state_, layout_); }

// A trace of weeks is more than any backend shows. With a root interval each so many iterations are a trace of their
// own, linked to the one before.
void Trainer::train(const lens::SpanContext& startup) {
  open_data();
  const int64_t interval = arguments_.otel_root_interval;
  previous_root_ = startup;
  do {
    lens::SpanOptions options;
    if (interval > 0) options = {.root = true, .links = {previous_root_}};
    auto span = lens::managed_span(mg::SpanGroup::job, mg::train, options, mg::train_iters = arguments_.train_iters);
    previous_root_ = span.context();
    train_to(interval > 0 ? std::min(state_.iteration + interval, arguments_.train_iters) : arguments_.train_iters);
  } while (state_.iteration < arguments_.train_iters);
}

void Trainer::open_data() {
  const std::string path = arguments_.data_path.empty() ? default_text_path() : arguments_.data_path;
  data_.emplace(path, arguments_.valid_fraction, arguments_.seq_length, static_cast<uint64_t>(state_.seed),
                evaluates());
  if (layout_.rank == 0)
    std::printf(" byte-frequency entropy of the text: %.6f (the loss of a model that has learnt only that)\n",
                unigram_entropy(data_->train_text));
  if (!arguments_.save.empty()) require_writable(arguments_.save);
  last_log_ = Clock::now();
}

void Trainer::train_to(int64_t iteration) {
  while (state_.iteration < iteration) {
    const StepResult step = train_step();
    if (state_.iteration % arguments_.log_interval == 0) log(step);
    if (evaluates() && is_due(arguments_.eval_interval)) evaluate_and_log();
    if (!arguments_.save.empty() && is_due(arguments_.save_interval)) save();
  }
}

bool Trainer::is_due(int64_t interval) const {
  return state_.iteration % interval == 0 || state_.iteration == arguments_.train_iters;
}

Trainer::StepResult Trainer::train_step() {
  auto span =
      lens::managed_span(mg::SpanGroup::step, mg::train_step, mg::iteration = state_.iteration + 1, mg::goodput = true);
  share_step_context(span);
  gradients_.zero();
  const double replica_loss = schedule_.forward_backward(data_->train, state_.consumed_samples);
  gradients_.finish();
  const double rate = learning_rate(arguments_, state_.iteration + 1);
  const auto update = optimizer_.step(rate);
  const double loss = mean_over_replicas(replica_loss, layout_, groups_.world);
  ++state_.iteration;
  state_.consumed_samples += arguments_.global_batch_size;
  span.set(mg::loss = loss, mg::grad_norm = update.grad_norm);
  return {loss, update, rate};
}

int Trainer::find_context_source(const Layout& layout, const Groups& groups, const Tracing& tracing) {
  if (!tracing.enabled || layout.pipeline_size == 1) return -1;
  lens::C10dCommunicator stages(groups.pipeline.process_group());
  int source = -1;
  groups.pipeline.attempt("agreeing on the source of trace contexts",
                          [&] { source = lens::find_exporting_rank(stages, layout.pipeline_size, tracing.exporting); });
  return source;
}

// Tells the other stages which span the source's step is, so that they can link to it or join its trace. Their steps
// link to it in any case: whatever else is recorded, all stages of a step are found from there.
void Trainer::share_step_context(lens::ScopedSpan& step) {
  if (context_source_ < 0) return;
  lens::C10dCommunicator stages(groups_.pipeline.process_group());
  groups_.pipeline.attempt("broadcast of the step's trace context", [&] {
    lens::SpanContext context = lens::broadcast_trace_context(stages, context_source_, state_.iteration + 1);
    if (context_source_ == layout_.stage()) context = {};  // its work is below its step as it is
    step.add_link(context);
    lens::set_pp_trace_carrier(context);
  });
}

void Trainer::log(const StepResult& step) {
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - last_log_;
  last_log_ = Clock::now();
  if (!layout_.is_last_rank()) return;
  std::printf(
      " iteration %8lld/%8lld | consumed samples: %12lld | elapsed time per iteration (ms): %.1f |"
      " learning rate: %.6E | lm loss: %.6E | grad norm: %.3f |%s\n",
      static_cast<long long>(state_.iteration), static_cast<long long>(arguments_.train_iters),
      static_cast<long long>(state_.consumed_samples), elapsed.count() / static_cast<double>(arguments_.log_interval),
      step.learning_rate, step.loss, step.update.grad_norm, step.update.updated ? "" : " update skipped |");
}

void Trainer::evaluate_and_log() {
  const double loss = evaluate(schedule_, *data_->valid, arguments_, layout_, groups_.world);
  if (!layout_.is_last_rank()) return;
  std::printf(" validation loss at iteration %lld | lm loss value: %.6E | lm loss PPL: %.6E |\n",
              static_cast<long long>(state_.iteration), loss, std::exp(loss));
}

void Trainer::save() { save_checkpoint(arguments_.save, state_, layout_, groups_.world); }

void Trainer::generate_text() {
  // The replicas hold the same model; one of them is enough.
  if (arguments_.generate_tokens == 0 || layout_.replica() != 0) return;
  lens::SpanOptions options;
  if (arguments_.otel_root_interval > 0) options = {.root = true, .links = {previous_root_}};
  auto span = lens::managed_span(mg::SpanGroup::inference, mg::inference_request, options, mg::goodput = true);
  const std::string text = generate(arguments_, layout_, *stage_, link_, groups_.pipeline);
  if (layout_.is_last_stage()) std::printf(" generated: %s\n", text.c_str());
}

}  // namespace

void pretrain(const Arguments& arguments, const Layout& layout, const Tracing& tracing) {
  std::optional<Groups> groups;
  std::optional<Trainer> trainer;
  lens::SpanContext startup;
  const auto train = [&] {
    trainer->train(startup);
    trainer->generate_text();
  };
  {
    const lens::SpanOptions since_exec{.start = tracing.process_start};
    auto span = lens::managed_span(mg::SpanGroup::job, mg::pretrain, since_exec, mg::model_type = "gpt",
                                   mg::train_iters = arguments.train_iters,
                                   mg::global_batch_size = arguments.global_batch_size);
    startup = span.context();
    {
      auto startup_span = lens::managed_span(mg::SpanGroup::job, mg::startup, since_exec, mg::goodput = true);
      groups.emplace(layout, std::chrono::minutes(arguments.distributed_timeout_minutes));
    }
    {
      auto model_span = lens::managed_span(mg::SpanGroup::model_init, mg::model_init, mg::goodput = true);
      trainer.emplace(arguments, layout, *groups, tracing);
    }
    if (!arguments.load.empty()) trainer->load();
    if (arguments.otel_root_interval == 0) return train();
  }
  train();
}

}  // namespace gpt
