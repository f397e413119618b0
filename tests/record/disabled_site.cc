// SPDX-License-Identifier: Apache-2.0
// A user's instrumentation sites and nothing else.
#include "lens/span.h"

using namespace lens::literals;

extern lens::Group site_group;

void disabled_site() { auto span = lens::managed_span(site_group, "step"); }

void disabled_site_with_attributes(int iteration, double loss) {
  auto span = lens::managed_span(site_group, "step", "iteration"_a = iteration, "loss"_a = loss,
                                 "phase"_a = "forward_backward");
}
