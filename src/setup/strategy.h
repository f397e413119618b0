// SPDX-License-Identifier: Apache-2.0
// Which ranks export.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lens/config.h"
#include "lens/rank.h"

namespace lens::setup {

/// A named policy. `exports` depends on its arguments alone, so that every rank can tell what the others do.
struct Strategy {
  std::string_view name;
  bool (*exports)(const Config&, const Rank&);
};

/// Throws std::invalid_argument that lists the names there are.
const Strategy& find_strategy(std::string_view name);

/// The value that `sampled` compares with the rate: int(md5(decimal rank)) mod 10000 / 10000.
double sampling_value(int rank);

/// True when no rank of the world would export.
bool exports_nowhere(const Strategy& strategy, const Config& config, int world_size);

}  // namespace lens::setup
