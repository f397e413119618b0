// SPDX-License-Identifier: Apache-2.0
// What is said at shutdown about spans that were lost.
#pragma once

#include <string>

#include "src/telemetry/self_metrics.h"

namespace lens::telemetry {

/// One line that names each cause and how many it cost; empty when nothing was lost.
std::string loss_report(const SpanCounts& spans, const exporting::Exporter& exporter);

}  // namespace lens::telemetry
