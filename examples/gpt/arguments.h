// SPDX-License-Identifier: Apache-2.0
// What the user asked for: the trainer's flags, spelled as Megatron spells them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpt {

struct Arguments {
  // Model.
  int64_t num_layers = 4;
  int64_t hidden_size = 128;
  int64_t num_attention_heads = 4;
  int64_t seq_length = 128;
  int64_t max_position_embeddings = 0;  // 0: seq_length

  // Parallelism and batch.
  int64_t pipeline_model_parallel_size = 1;
  int64_t micro_batch_size = 4;
  int64_t global_batch_size = 16;
  int64_t distributed_timeout_minutes = 10;

  // Training.
  int64_t train_iters = 100;
  int64_t seed = 1234;
  double lr = 3e-3;
  double min_lr = 3e-4;
  int64_t lr_warmup_iters = 10;
  double weight_decay = 0.01;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.95;
  double adam_eps = 1e-8;
  double clip_grad = 1.0;
  int64_t ddp_bucket_size = 250'000;

  // Activations.
  std::string recompute_granularity;  // "full": of a layer only its input is kept; empty: nothing is recomputed
  bool cpu_offloading = true;
  int64_t cpu_offloading_num_layers = 0;  // 0: every layer of the stage
  std::string cpu_offloading_dir;         // empty: the system's directory for temporary files

  // Data, evaluation, logging.
  std::string data_path;  // empty: the text beside the program
  double valid_fraction = 0.05;
  int64_t eval_interval = 50;
  int64_t eval_iters = 2;
  int64_t log_interval = 1;

  // Checkpoints.
  std::string save;
  std::string load;
  int64_t save_interval = 50;

  // Text generation after training; 0 tokens: none.
  std::string prompt = "And God said";
  int64_t generate_tokens = 64;

  // Telemetry; unset means what the environment says.
  bool otel_enabled = false;
  std::string otel_service_name;
  std::string otel_span_groups;
  int64_t otel_root_interval = 0;
  std::string otel_pipeline_context = "link";  // or "adopt"
};

// The command line is at fault: main prints the message and exits with status 2.
struct UsageError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Reads the flags and fills in the values that depend on others. Throws UsageError for an unknown flag (naming the
// nearest known one), a missing or malformed value, or a value out of its range. Sets help when --help was asked for.
Arguments parse_arguments(int argc, const char* const* argv, bool& help);

// Do the values fit each other and the number of ranks? Throws UsageError naming the remedy, alike on every rank.
void validate(const Arguments& arguments, int world_size);

// The text of --help.
std::string usage();

}  // namespace gpt
