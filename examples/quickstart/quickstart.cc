// SPDX-License-Identifier: Apache-2.0
// NEMO_LENS_ENABLED=1 NEMO_LENS_EXPORTER=console NEMO_LENS_SPAN_GROUPS=per_step ./quickstart
#include <lens/lens.h>
using lens::SpanGroup;
using namespace lens::literals;

double train_one_step(int iteration) { return 4.0 / (1 + iteration); }

int main() {
  auto telemetry = lens::setup_telemetry(lens::Config::from_env(), lens::Rank::from_env());
  auto job = lens::managed_span(SpanGroup::job, "train");
  for (int iteration = 0; iteration < 100; ++iteration) {
    auto step = lens::managed_span(SpanGroup::step, "train_step", "iteration"_a = iteration);
    step.set("loss"_a = train_one_step(iteration));
  }
}
