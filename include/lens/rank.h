// SPDX-License-Identifier: Apache-2.0
// Which process of the job this one is.
// Include this to tell set-up, from the launcher's variables or from what the program already knows.
//
// Threads:   plain values; `from_env` reads the environment, so call it before threads change that.
// Errors:    a launcher variable that makes no sense never stops the job: it is reported in `warnings` and passed over.
#pragma once

#include <string>
#include <vector>

#include "lens/visibility.h"

namespace lens {

/// `Rank::from_env()`, or by hand: `{.rank = r, .world_size = n}`.
struct Rank {
  int rank = 0;         ///< 0 … world_size - 1
  int world_size = 1;   ///< processes in the job
  int local_rank = -1;  ///< 0 … on this node; negative: not known, set-up asks the launcher's variables, else takes 0

  std::vector<std::string> warnings = {};  ///< found by from_env; set-up hands them to Config::on_error

  /// Understands torchrun (RANK), Open MPI (OMPI_COMM_WORLD_RANK), MPICH (PMI_RANK) and Slurm (SLURM_PROCID). Where one
  /// started another and several say a rank, that of the largest world; of equal worlds, the first in this order. Rank
  /// 0 of 1 when no launcher is found. `local_rank` is never negative here.
  LENS_API static Rank from_env();
};

}  // namespace lens
