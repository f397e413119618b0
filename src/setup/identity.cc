// SPDX-License-Identifier: Apache-2.0
#include "src/setup/identity.h"

#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>

#include "src/base/file.h"
#include "src/base/md5.h"
#include "src/setup/ancestors.h"
#include "src/setup/environment.h"
#include "src/setup/rank.h"

namespace lens::setup {
namespace {

std::string restart_suffix(std::string_view word, std::string_view variable) {
  const auto count = read_variable(variable);
  return count && *count != "0" ? "-" + std::string{word} + *count : "";
}

std::string hashed(const std::string& text) { return base::hex(base::md5(text)).substr(0, 16); }

/// Of mpirun: its name of the job, which all ranks are told. Open MPI's is 16 bits of a hash of the host and mpirun's
/// process; it gives each job a key besides. Slurm's own launcher says there what SLURM_STEP_ID says.
std::optional<std::string> mpirun_job() {
  for (const char* variable : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    const auto job = read_variable(variable);
    if (job && !job->starts_with("slurm."))
      return hashed(*job + "/" + read_variable("OMPI_MCA_orte_precondition_transports").value_or(""));
  }
  return std::nullopt;
}

std::optional<std::string> slurm_run() {
  auto run = read_variable("SLURM_JOB_ID");
  if (!run) return std::nullopt;
  if (const auto task = read_variable("SLURM_ARRAY_TASK_ID")) *run += "_" + *task;
  // mpirun starts the ranks of its own node without a step, and those of the others in one.
  if (const auto job = mpirun_job())
    *run += "." + *job;
  else if (const auto step = read_variable("SLURM_STEP_ID"))
    *run += "." + *step;
  return *run + restart_suffix("restart", "SLURM_RESTART_COUNT");
}

std::optional<std::string> torchrun_run() {
  auto run = read_variable("TORCHELASTIC_RUN_ID");
  if (run == "none") return std::nullopt;  // the launcher's default, the same for every run
  return run;
}

/// The nearest ancestor that does not belong to this rank alone, as a script does in which the launcher starts it; 0
/// when that cannot be seen, as from inside a container.
pid_t launcher_process() {
  const auto variables = rank_variables();
  pid_t process = getppid();
  while (variables && process > 0 && was_started_with(process, variables->rank)) process = parent_of(process);
  return process;
}

/// Boot, and what tells containers apart, whose processes have the same few numbers; and what the run is of.
std::string run_of(const std::string& origin) {
  const std::string boot = base::read_file("/proc/sys/kernel/random/boot_id").value_or("");
  std::error_code ignored;
  const std::string numbers = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  return hashed(boot + "/" + numbers + "/" + origin);
}

std::string run_of_process(pid_t process) { return run_of(std::to_string(process) + "/" + start_time_of(process)); }

/// A launcher that tells how many ranks it has may be a container's first process. Else that has only adopted what it
/// is the parent of: a script, which has ended, started it, as all of its process group.
bool has_lost_its_launcher(pid_t launcher) { return launcher == 1 && !ranks_on_node(); }

std::string run_of_launcher(pid_t launcher) {
  return has_lost_its_launcher(launcher) ? run_of("group " + std::to_string(getpgrp())) : run_of_process(launcher);
}

/// Of several ranks that nothing names.
std::string unnamed_run(const Config& config, const Rank& rank, std::vector<std::string>& warnings) {
  const pid_t launcher = launcher_process();
  if (launcher > 0 && is_on_one_node(rank)) {
    if (!ranks_on_node())
      warnings.push_back(std::string{"the run id is of "} +
                         (has_lost_its_launcher(launcher) ? "the process group of this rank, whose launcher has ended"
                                                          : "the process that started this rank") +
                         ", so that ranks of another one get another; set " + config.prefix + "_RUN_ID");
    return run_of_launcher(launcher);
  }

  const auto address = read_variable("MASTER_ADDR");
  if (!address) {
    warnings.push_back("no launcher names this run, so ranks on different nodes get different run ids; set " +
                       config.prefix + "_RUN_ID");
    return run_of_launcher(launcher);
  }
  warnings.push_back("the run id is a hash of MASTER_ADDR and MASTER_PORT, so that runs may collide; set " +
                     config.prefix + "_RUN_ID");
  return hashed(*address + ":" + read_variable("MASTER_PORT").value_or(""));
}

/// Of the last set-up. Never destroyed: it may be asked for in a static destructor.
struct Remembered {
  std::mutex mutex;
  std::string run_id;
};

Remembered& remembered() {
  static auto* const remembered = new Remembered;
  return *remembered;
}

}  // namespace

std::string derive_run_id(const Config& config, const Rank& rank, std::vector<std::string>& warnings) {
  if (!config.run_id.empty()) return config.run_id;
  const auto of_restart = [&](const std::string& run, std::string_view word) {
    const std::string suffix = restart_suffix(word, "TORCHELASTIC_RESTART_COUNT");
    // torchrun counts on each node what failed there; that it starts the others' ranks again counts nowhere.
    if (!suffix.empty() && !is_on_one_node(rank))
      warnings.push_back(
          "the run id ends in torchrun's count of restarts, which other nodes may count otherwise; set " +
          config.prefix + "_RUN_ID");
    return run + suffix;
  };
  if (const auto run = slurm_run()) return of_restart(*run, "elastic");  // its "restart" is Slurm's own
  if (const auto run = torchrun_run()) return of_restart(*run, "restart");
  if (const auto run = mpirun_job()) return *run;
  if (rank.world_size == 1) return run_of_process(getpid());
  return of_restart(unnamed_run(config, rank, warnings), "restart");
}

bool is_run_of_one_process(const Config& config, const Rank& rank) {
  return rank.world_size == 1 && config.run_id.empty() && !slurm_run() && !torchrun_run() && !mpirun_job();
}

void remember_run_id(const std::string& run_id) {
  const std::lock_guard lock(remembered().mutex);
  remembered().run_id = run_id;
}

std::string own_run_id(const Config& config) {
  if (!config.run_id.empty()) return config.run_id;
  {
    const std::lock_guard lock(remembered().mutex);
    if (!remembered().run_id.empty()) return remembered().run_id;
  }
  std::vector<std::string> ignored;
  return derive_run_id(config, Rank::from_env(), ignored);
}

}  // namespace lens::setup
