// SPDX-License-Identifier: Apache-2.0
// A report for programs: docs/report.md is its reference.
#pragma once

#include <string>

#include "tools/analyze/report.h"

namespace lens::cli {

std::string report_json(const analyze::Report& report);

}  // namespace lens::cli
