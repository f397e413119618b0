// SPDX-License-Identifier: Apache-2.0
#include "src/setup/rank.h"

#include <optional>
#include <stdexcept>

#include "src/setup/environment.h"

namespace lens {
namespace {

struct Launcher {
  const char* rank;
  const char* world_size;
  const char* local_rank;
};

constexpr Launcher torchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Launcher slurm{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};
constexpr Launcher open_mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr Launcher mpich{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"};

/// The number that a launcher's variable holds; nothing, and a warning, when it makes no sense.
std::optional<int> read_number(const char* name, int minimum, std::vector<std::string>& warnings) {
  const auto value = setup::read_variable(name);
  if (!value) return std::nullopt;
  try {
    return setup::integer({name, *value}, minimum);
  } catch (const std::invalid_argument& error) {
    warnings.push_back(std::string{error.what()} + "; it is passed over");
    return std::nullopt;
  }
}

/// The first that says a rank.
std::optional<Launcher> find_launcher(std::vector<std::string>& warnings) {
  for (const Launcher& launcher : {torchrun, open_mpi, mpich, slurm}) {
    if (read_number(launcher.rank, 0, warnings)) return launcher;
  }
  return std::nullopt;
}

}  // namespace

Rank Rank::from_env() {
  Rank found;
  if (const auto launcher = find_launcher(found.warnings)) {
    found.rank = read_number(launcher->rank, 0, found.warnings).value_or(0);
    found.world_size = read_number(launcher->world_size, 1, found.warnings).value_or(1);
    found.local_rank = read_number(launcher->local_rank, 0, found.warnings).value_or(-1);
  }
  if (found.rank >= found.world_size) {
    found.warnings.push_back("the launcher says rank " + std::to_string(found.rank) + " of a world of " +
                             std::to_string(found.world_size) + "; a world of " + std::to_string(found.rank + 1) +
                             " is taken");
    found.world_size = found.rank + 1;
  }
  if (found.local_rank < 0) found.local_rank = setup::local_rank(found.warnings);
  return found;
}

std::optional<setup::RankVariables> setup::rank_variables() {
  std::vector<std::string> ignored;
  const auto launcher = find_launcher(ignored);
  if (!launcher) return std::nullopt;
  return RankVariables{launcher->rank, launcher->world_size};
}

int setup::local_rank(std::vector<std::string>& warnings) {
  for (const Launcher& launcher : {torchrun, slurm, open_mpi, mpich}) {
    if (const auto rank = read_number(launcher.local_rank, 0, warnings)) return *rank;
  }
  return 0;
}

bool setup::is_on_one_node(const Rank& rank) {
  if (rank.world_size == 1) return true;
  const std::string all = std::to_string(rank.world_size);
  for (const char* ranks_on_node : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const auto count = read_variable(ranks_on_node)) return count == all;
  }
  const std::string rendezvous = read_variable("MASTER_ADDR").value_or("");
  return rendezvous == "localhost" || rendezvous == "::1" || rendezvous.starts_with("127.");
}

}  // namespace lens
