// SPDX-License-Identifier: Apache-2.0
// The name of the run, which all its ranks share without having spoken to each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lens/config.h"
#include "lens/rank.h"

namespace lens::setup {

/// The first that there is of: the configured one; what a launcher names (Slurm's job with array task, step and
/// restart; torchrun's run id; a hash of mpirun's name of the job); for a world of 1, a run of this process's own; on
/// one node a hash of boot and of the process that started the ranks and its start, or of their process group where
/// that has ended; a hash of the rendezvous, with a warning. Under Slurm, mpirun's job takes the place of the step.
/// torchrun's restart is added to all but the configured one and mpirun's, as `-restart<count>`, to Slurm's as
/// `-elastic<count>`; over several nodes with a warning, as each counts for itself.
std::string derive_run_id(const Config& config, const Rank& rank, std::vector<std::string>& warnings);

/// Whether another process with this configuration and rank would be of another run.
bool is_run_of_one_process(const Config& config, const Rank& rank);

/// So much of it finds room in the file of rings, where `lens` looks for the processes of a run.
constexpr std::size_t longest_run_id = 127;

/// Telemetry of this process was set up in that run.
void remember_run_id(const std::string& run_id);

/// The run that this process is of: what `config` names, else what was remembered, else what is derived.
std::string own_run_id(const Config& config);

}  // namespace lens::setup
