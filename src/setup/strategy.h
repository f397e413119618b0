// SPDX-License-Identifier: Apache-2.0
// Which ranks export, and which of them the rank-aware sampler keeps.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lens/strategy.h"

namespace lens::setup {

/// A copy of the strategy. Throws std::invalid_argument that lists the names there are.
ExportStrategy find_strategy(std::string_view name);

/// Whether the rank belongs to the share of EXPORT_SAMPLE_RATE: the strategy `sampled`, and the rank-aware sampler.
bool is_sampled(const Config& config, const Rank& rank);

/// The value that is compared with the rate: int(md5(decimal rank)) mod 10000 / 10000.
double sampling_value(int rank);

/// True when no rank of the world is chosen, or none that the rank-aware sampler keeps where it is about spans. Without
/// `ranks_per_node`, a rank's local rank may be any that it can have on a node of 64. False also where the world is too
/// large to ask: 2^20 ranks with a built-in strategy, 2^17 with another one, and 2^11 without `ranks_per_node`.
bool chooses_nobody(const ExportStrategy& chooses, const Config& config, int world_size, int ranks_per_node = 0,
                    bool with_spans = false);

}  // namespace lens::setup
