// SPDX-License-Identifier: Apache-2.0
// What the launcher says about the node that this rank is on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lens/rank.h"

namespace lens::setup {

struct RankVariables {
  std::string_view rank, world_size;
};

/// The launcher's variables that Rank::from_env takes the rank from; nothing when there is no launcher.
std::optional<RankVariables> rank_variables();

/// LOCAL_RANK, else SLURM_LOCALID, OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, else 0.
int local_rank(std::vector<std::string>& warnings);

/// How many ranks the launcher says it started on this node.
std::optional<int> ranks_on_node();

/// True when the launcher says that all ranks of the job are on this node.
bool is_on_one_node(const Rank& rank);

}  // namespace lens::setup
