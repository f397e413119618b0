// SPDX-License-Identifier: Apache-2.0
// A rank that goes into nested spans and stands there. Usage: stander SIGNPOST SPAN...
// It tells the signpost when it is there, and ends in order when it is asked to.
#include <signal.h>

#include <fstream>
#include <memory>
#include <vector>

#include "lens/lens.h"

namespace {

using namespace lens::literals;

sigset_t asked_to_end() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

int main(int argc, char** argv) {
  const sigset_t signals = asked_to_end();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  auto telemetry = lens::setup_telemetry(lens::Config::from_env(), lens::Rank::from_env());
  for (int i = 0; i < 5; ++i) auto span = lens::managed_span(lens::SpanGroup::step, "before");
  std::vector<std::unique_ptr<lens::ScopedSpan>> inside;
  for (int i = 2; i < argc; ++i)
    inside.emplace_back(new lens::ScopedSpan(lens::managed_span(lens::SpanGroup::step, argv[i], "iteration"_a = 7)));
  std::ofstream(argv[1]) << "here" << std::endl;
  int signal;
  sigwait(&signals, &signal);
  while (!inside.empty()) inside.pop_back();
}
