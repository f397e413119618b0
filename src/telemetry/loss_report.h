// SPDX-License-Identifier: Apache-2.0
// What is said at shutdown about spans and log records that were lost.
#pragma once

#include <string>

#include "src/telemetry/self_metrics.h"

namespace lens::telemetry {

/// One line that names each cause and how many it cost; empty when nothing was lost.
std::string loss_report(const SpanCounts& spans, const exporting::Exporter& exporter);
/// Also says when there were none at all, though they are on: nothing may be wired to them.
std::string loss_report(const LogCounts& logs, const exporting::Exporter& exporter);

}  // namespace lens::telemetry
