// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/telemetry.h"

#include "lens/megatron.h"
#include "lens/telemetry.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

namespace gpt {

lens::Config telemetry_config(const Arguments& arguments) {
  auto config = lens::Config::from_env(
      {.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS", .vocabulary = lens::MegatronSpanGroup::vocabulary()});
  if (arguments.otel_enabled) config.enabled = true;
  if (!arguments.otel_service_name.empty()) config.service_name = arguments.otel_service_name;
  if (!arguments.otel_span_groups.empty()) config.span_groups = arguments.otel_span_groups;
  config.on_error = [](std::string_view message) {
    std::fprintf(stderr, "gpt: telemetry: %.*s\n", static_cast<int>(message.size()), message.data());
  };
  return config;
}

lens::ResourceAttributes resource_attributes(const Arguments& arguments, const Layout& layout) {
  return {{"dl.tensor_parallel.size", 1},
          {"dl.tensor_parallel.rank", 0},
          {"dl.pipeline_parallel.size", layout.pipeline_size},
          {"dl.pipeline_parallel.rank", layout.stage()},
          {"dl.data_parallel.size", layout.data_size},
          {"dl.data_parallel.rank", layout.replica()},
          {"dl.batch_size", arguments.global_batch_size},
          {"dl.sequence_length", arguments.seq_length},
          {"megatron.num_layers", arguments.num_layers},
          {"megatron.hidden_size", arguments.hidden_size},
          {"megatron.num_attention_heads", arguments.num_attention_heads},
          {"megatron.train_iters", arguments.train_iters},
          {"megatron.micro_batch_size", arguments.micro_batch_size},
          {"megatron.ckpt_format", "torch"},
          {"megatron.precision", "fp32"}};
}

lens::SystemTime process_start() {
  using namespace std::chrono;
  std::ifstream file("/proc/self/stat");
  std::string stat;
  std::getline(file, stat);
  // Fields behind the name, which may hold anything, are told by number: 3 is the first, 22 the start in ticks since
  // boot.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  long long started_ticks = 0;
  timespec since_boot{};
  if (!(fields >> started_ticks) || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) return system_clock::now();
  const auto age = seconds(since_boot.tv_sec) + nanoseconds(since_boot.tv_nsec) -
                   duration<double>(static_cast<double>(started_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  return system_clock::now() - duration_cast<system_clock::duration>(age);
}

void drain_on_termination() {
  for (const int signal : {SIGTERM, SIGINT}) {
    std::signal(signal, [](int received) {
      lens::graceful_drain();
      std::signal(received, SIG_DFL);
      std::raise(received);
    });
  }
}

}  // namespace gpt
