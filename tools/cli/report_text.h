// SPDX-License-Identifier: Apache-2.0
// A report for people.
#pragma once

#include <cstddef>
#include <string>

#include "tools/analyze/report.h"

namespace lens::cli {

/// Lines of at most `width` columns where the content allows it; 0: no limit.
std::string report_text(const analyze::Report& report, std::size_t width);

}  // namespace lens::cli
