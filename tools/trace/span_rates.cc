// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/span_rates.h"

namespace lens::trace {

void SpanRates::fill(std::vector<ProcessState>& processes, Time now) {
  for (ProcessState& process : processes) {
    auto [last, is_new] = last_.try_emplace(process.file, now, process.spans_recorded);
    if (is_new) continue;
    const auto [then, recorded_then] = std::exchange(last->second, {now, process.spans_recorded});
    const double elapsed_s = std::chrono::duration<double>(now - then).count();
    if (elapsed_s > 0 && process.spans_recorded >= recorded_then)
      process.spans_per_s = double(process.spans_recorded - recorded_then) / elapsed_s;
  }
}

}  // namespace lens::trace
