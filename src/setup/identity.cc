// SPDX-License-Identifier: Apache-2.0
#include "src/setup/identity.h"

#include <unistd.h>

#include <optional>

#include "src/base/file.h"
#include "src/base/md5.h"
#include "src/base/text.h"
#include "src/setup/environment.h"
#include "src/setup/rank.h"

namespace lens::setup {
namespace {

std::string restart_suffix(std::string_view variable) {
  const auto count = read_variable(variable);
  return count && *count != "0" ? "-restart" + *count : "";
}

std::optional<std::string> slurm_run() {
  auto run = read_variable("SLURM_JOB_ID");
  if (!run) return std::nullopt;
  if (const auto task = read_variable("SLURM_ARRAY_TASK_ID")) *run += "_" + *task;
  if (const auto step = read_variable("SLURM_STEP_ID")) *run += "." + *step;
  return *run + restart_suffix("SLURM_RESTART_COUNT");
}

std::optional<std::string> torchrun_run() {
  const auto run = read_variable("TORCHELASTIC_RUN_ID");
  if (!run || *run == "none") return std::nullopt;  // the launcher's default, the same for every run
  return *run + restart_suffix("TORCHELASTIC_RESTART_COUNT");
}

/// In clock ticks since boot; empty when the parent cannot be seen, as from inside a container.
std::string start_of(pid_t process) {
  const std::string stat = base::read_file("/proc/" + std::to_string(process) + "/stat").value_or("");
  const auto name_end = stat.rfind(')');  // the name, second of the fields, may hold anything
  if (name_end == std::string::npos) return {};
  const auto fields = base::split(std::string_view{stat}.substr(name_end + 1), ' ');
  constexpr std::size_t start_time = 20;  // field 22, counted from the blank behind the second
  return fields.size() > start_time ? std::string{fields[start_time]} : std::string{};
}

std::string hashed(const std::string& text) { return base::hex(base::md5(text)).substr(0, 16); }

std::string launch_run() {
  const std::string boot = base::read_file("/proc/sys/kernel/random/boot_id").value_or("");
  return hashed(boot + "/" + std::to_string(getppid()) + "/" + start_of(getppid()));
}

}  // namespace

std::string derive_run_id(const Config& config, const Rank& rank, std::vector<std::string>& warnings) {
  if (!config.run_id.empty()) return config.run_id;
  if (const auto run = slurm_run()) return *run;
  if (const auto run = torchrun_run()) return *run;
  if (is_on_one_node(rank)) return launch_run();

  const auto address = read_variable("MASTER_ADDR");
  if (!address) {
    warnings.push_back("no launcher names this run, so ranks on different nodes get different run ids; set " +
                       config.prefix + "_RUN_ID");
    return launch_run();
  }
  warnings.push_back("the run id is a hash of MASTER_ADDR and MASTER_PORT, so that runs may collide; set " +
                     config.prefix + "_RUN_ID");
  return hashed(*address + ":" + read_variable("MASTER_PORT").value_or(""));
}

}  // namespace lens::setup
