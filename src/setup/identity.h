// SPDX-License-Identifier: Apache-2.0
// The name of the run, which all its ranks share without having spoken to each other.
#pragma once

#include <string>
#include <vector>

#include "lens/config.h"
#include "lens/rank.h"

namespace lens::setup {

/// The first that there is of: the configured one; Slurm's job with array task, step and restart; torchrun's run id
/// with its restart; on one node a hash of boot, parent process and its start; a hash of the rendezvous, with a
/// warning.
std::string derive_run_id(const Config& config, const Rank& rank, std::vector<std::string>& warnings);

}  // namespace lens::setup
