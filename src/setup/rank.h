// SPDX-License-Identifier: Apache-2.0
// What the launcher says about the node that this rank is on.
#pragma once

#include <string>
#include <vector>

#include "lens/rank.h"

namespace lens::setup {

/// LOCAL_RANK, else SLURM_LOCALID, OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, else 0.
int local_rank(std::vector<std::string>& warnings);

/// True when the launcher says that all ranks of the job are on this node.
bool is_on_one_node(const Rank& rank);

}  // namespace lens::setup
