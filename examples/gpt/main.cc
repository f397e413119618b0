// SPDX-License-Identifier: Apache-2.0
// Trains a GPT over pipeline and data parallel ranks. Exit codes: 0, 1 failed, 2 usage.
#include "examples/gpt/arguments.h"
#include "examples/gpt/errors.h"
#include "examples/gpt/parallel.h"
#include "examples/gpt/telemetry.h"
#include "examples/gpt/training.h"
#include "lens/telemetry.h"

#include <torch/torch.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace {

int run(int argc, const char* const* argv) {
  bool help = false;
  const gpt::Arguments arguments = gpt::parse_arguments(argc, argv, help);
  if (help) return std::fputs(gpt::usage().c_str(), stdout) < 0;
  gpt::Layout layout = gpt::layout_from_env();
  gpt::validate(arguments, layout.world_size);
  layout.pipeline_size = static_cast<int>(arguments.pipeline_model_parallel_size);
  layout.data_size = layout.world_size / layout.pipeline_size;
  const lens::Config config = gpt::telemetry_config(arguments);
  const auto telemetry = lens::setup_telemetry(config, {.rank = layout.rank, .world_size = layout.world_size},
                                               gpt::resource_attributes(arguments, layout));
  if (telemetry.is_exporting()) gpt::drain_on_termination();
  gpt::pretrain(
      arguments, layout,
      {.enabled = config.enabled, .exporting = telemetry.is_tracing(), .process_start = gpt::process_start()});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  torch::set_num_threads(1);                      // the ranks of a node are its parallelism
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // lines of several ranks share one terminal or pipe
  try {
    return run(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gpt: %s (--help lists the flags)\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpt: %s\n", gpt::message_of(error).c_str());
    return 1;
  }
}
