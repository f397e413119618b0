// SPDX-License-Identifier: Apache-2.0
// An examination as people and as programs read it.
#pragma once

#include <optional>
#include <string>

#include "tools/analyze/group_coverage.h"
#include "tools/doctor/examination.h"

namespace lens::cli {

/// `all`: variables that apply by default, too.
std::string doctor_text(const doctor::Examination& examination, const std::optional<analyze::GroupCoverage>& coverage,
                        bool all);
std::string doctor_json(const doctor::Examination& examination, const std::optional<analyze::GroupCoverage>& coverage);

}  // namespace lens::cli
