// SPDX-License-Identifier: Apache-2.0
#include "src/setup/rank.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

#include "src/setup/environment.h"

namespace lens {
namespace {

struct Launcher {
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_size;  // null: it does not say
};

constexpr Launcher torchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Launcher slurm{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};
constexpr Launcher slurm_job{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr};
constexpr Launcher open_mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Launcher mpich{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

/// The number that a launcher's variable holds; nothing, and a warning, when it makes no sense.
std::optional<int> read_number(const char* name, int minimum, std::vector<std::string>& warnings) {
  const auto value = setup::read_variable(name);
  if (!value) return std::nullopt;
  try {
    const int number = setup::integer({name, *value}, minimum);
    // A world that holds this rank has one more.
    if (number < std::numeric_limits<int>::max()) return number;
    setup::reject({name, *value}, "a number of ranks");
  } catch (const std::invalid_argument& error) {
    const std::string warning = std::string{error.what()} + "; it is passed over";
    if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
    return std::nullopt;
  }
}

/// What runs in a batch script without srun finds the job's number of tasks, and 0 as its own, but is none of them:
/// Slurm gives it no step.
bool is_in_batch_script() {
  return setup::read_variable("SLURM_JOB_ID") && !setup::read_variable("SLURM_STEP_ID") &&
         !setup::read_variable("SLURM_STEP_NUM_TASKS");
}

/// The world is the step's: a job may have steps of fewer tasks than it asked for, as an interactive shell is.
std::optional<Launcher> find_slurm(std::vector<std::string>& warnings) {
  const auto rank = read_number(slurm.rank, 0, warnings);
  if (!rank || (*rank == 0 && is_in_batch_script())) return std::nullopt;
  return read_number(slurm.world_size, 1, warnings) ? slurm : slurm_job;
}

/// Those that say a rank, in the order in which they are believed where their worlds are of one size.
std::vector<Launcher> find_launchers(std::vector<std::string>& warnings) {
  std::vector<Launcher> found;
  for (const Launcher& launcher : {torchrun, open_mpi, mpich}) {
    if (read_number(launcher.rank, 0, warnings)) found.push_back(launcher);
  }
  if (const auto launcher = find_slurm(warnings)) found.push_back(*launcher);
  return found;
}

int world_of(const Launcher& launcher, std::vector<std::string>& warnings) {
  const int rank = read_number(launcher.rank, 0, warnings).value_or(0);
  return std::max(read_number(launcher.world_size, 1, warnings).value_or(1), rank + 1);
}

/// One launcher may have started another, as `lens run -- mpirun …` does: the job is then the larger world. Which one
/// is the inner cannot be told from the variables, and /proc does not show it to every process.
std::optional<Launcher> find_launcher(std::vector<std::string>& warnings) {
  const std::vector<Launcher> found = find_launchers(warnings);
  const auto world = [&](const Launcher& launcher) { return world_of(launcher, warnings); };
  const auto largest = std::ranges::max_element(found, {}, world);  // the first of them
  return largest == found.end() ? std::nullopt : std::optional{*largest};
}

}  // namespace

Rank Rank::from_env() {
  Rank found;
  if (const auto launcher = find_launcher(found.warnings)) {
    found.rank = read_number(launcher->rank, 0, found.warnings).value_or(0);
    found.world_size = read_number(launcher->world_size, 1, found.warnings).value_or(1);
  }
  if (found.rank >= found.world_size) {
    found.warnings.push_back("the launcher says rank " + std::to_string(found.rank) + " of a world of " +
                             std::to_string(found.world_size) + "; a world of " + std::to_string(found.rank + 1) +
                             " is taken");
    found.world_size = found.rank + 1;
  }
  found.local_rank = setup::local_rank(found.warnings);
  return found;
}

std::optional<setup::RankVariables> setup::rank_variables() {
  std::vector<std::string> ignored;
  const auto launcher = find_launcher(ignored);
  if (!launcher) return std::nullopt;
  return RankVariables{launcher->rank, launcher->world_size};
}

int setup::local_rank(std::vector<std::string>& warnings) {
  std::vector<std::string> ignored;
  if (const auto launcher = find_launcher(ignored))
    if (const auto rank = read_number(launcher->local_rank, 0, warnings)) return *rank;
  for (const Launcher& launcher : {torchrun, slurm, open_mpi, mpich}) {
    if (const auto rank = read_number(launcher.local_rank, 0, warnings)) return *rank;
  }
  return 0;
}

std::optional<int> setup::ranks_on_node() {
  std::vector<std::string> ignored;
  const auto count_of = [&](const Launcher& launcher) {
    return launcher.local_size ? read_number(launcher.local_size, 1, ignored) : std::nullopt;
  };
  if (const auto launcher = find_launcher(ignored))
    if (const auto count = count_of(*launcher)) return count;
  for (const Launcher& launcher : {torchrun, open_mpi, mpich})
    if (const auto count = count_of(launcher)) return count;
  return std::nullopt;
}

bool setup::is_on_one_node(const Rank& rank) {
  if (rank.world_size == 1) return true;
  if (const auto count = ranks_on_node()) return count == rank.world_size;
  const std::string rendezvous = read_variable("MASTER_ADDR").value_or("");
  return rendezvous == "localhost" || rendezvous == "::1" || rendezvous.starts_with("127.");
}

}  // namespace lens
