// SPDX-License-Identifier: Apache-2.0
// A rank that goes into nested spans and stands there. Usage: stander SIGNPOST WORD...
// `SPAN` is a scope, `start:SPAN` a span that is none, below the one before; with `fork` a child stands there too;
// `iteration:N` is told the innermost scope after it has begun; `names:N` forms as many names of 1000 letters and more.
// It tells the signpost when it is there, and ends in order when it is asked to.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
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

void form_names(int count) {
  for (int i = 0; i < count; ++i)
    auto span = lens::managed_span(lens::SpanGroup::step, std::string(1000, 'x') + std::to_string(i));
}

}  // namespace

int main(int argc, char** argv) {
  const sigset_t signals = asked_to_end();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  auto telemetry = lens::setup_telemetry(lens::Config::from_env(), lens::Rank::from_env());
  for (int i = 0; i < 5; ++i) auto span = lens::managed_span(lens::SpanGroup::step, "before");
  std::vector<std::unique_ptr<lens::ScopedSpan>> inside;
  std::vector<lens::SpanHandle> started;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    constexpr std::string_view start = "start:", iteration = "iteration:", names = "names:";
    if (word == "fork") {
      if (fork() == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    } else if (word.starts_with(iteration)) {
      inside.back()->set("iteration"_a = std::atoi(argv[i] + iteration.size()));
    } else if (word.starts_with(names)) {
      form_names(std::atoi(argv[i] + names.size()));
    } else if (word.starts_with(start)) {
      lens::SpanOptions options;
      if (!started.empty()) options.parent = started.back().context();
      started.push_back(lens::start_span(lens::SpanGroup::step, word.substr(start.size()), options));
    } else {
      inside.emplace_back(new lens::ScopedSpan(lens::managed_span(lens::SpanGroup::step, word, "iteration"_a = 7)));
    }
  }
  std::ofstream(argv[1]) << "here" << std::endl;
  int signal;
  sigwait(&signals, &signal);
  while (!inside.empty()) inside.pop_back();
}
