// SPDX-License-Identifier: Apache-2.0
// What a program logs, in the spans that it was logged in:
//   NEMO_LENS_ENABLED=1 NEMO_LENS_LOGS_ENABLED=1 NEMO_LENS_SPAN_GROUPS=per_step NEMO_LENS_EXPORTER=console ./logs
#include <lens/lens.h>
#include <lens/spdlog.h>
#include <spdlog/spdlog.h>

using lens::SpanGroup;
using namespace lens::literals;

int main() {
  auto telemetry = lens::setup_telemetry(lens::Config::from_env(), lens::Rank::from_env());

  // What spdlog's default logger says goes to Lens too.
  spdlog::default_logger()->sinks().push_back(lens::spdlog_sink());

  for (int iteration = 1; iteration <= 3; ++iteration) {
    auto step = lens::managed_span(SpanGroup::step, "train_step", "iteration"_a = iteration);
    SPDLOG_INFO("iteration {} of 3", iteration);  // names the step
  }
  lens::log(lens::Severity::warn, "loss is not finite", "rank"_a = 0);  // without spdlog
}
