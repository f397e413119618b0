// SPDX-License-Identifier: Apache-2.0
// SAMPLE_EVERY_N_STEPS: which steps are kept.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>

namespace lens::record {

/// From now on every `interval`th step is kept; those without a number are counted anew, from 1.
void sample_steps(int interval) noexcept;

/// Whether the step of this number is kept; without one, the next of those that have none.
bool keeps_step(std::optional<std::int64_t> iteration) noexcept;

}  // namespace lens::record
