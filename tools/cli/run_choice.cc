// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/run_choice.h"

#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/launch/environment.h"
#include "tools/trace/ring_file.h"
#include "tools/trace/run_file.h"

namespace lens::cli {

namespace fs = std::filesystem;

std::string run_id_of(const std::string& run, const std::string& shm_dir) {
  if (run.empty() || !fs::is_directory(run)) return run;
  if (const auto file = trace::read_run_file(run)) return file->run_id;
  for (trace::RingFile& rings : trace::find_ring_files(shm_dir, "")) {
    const trace::RingFileFacts facts = rings.read_facts();
    std::error_code ignored;
    if (fs::equivalent(facts.trace_directory, run, ignored)) return facts.run_id;
  }
  return (fs::absolute(run) / "").lexically_normal().parent_path().filename().string();
}

std::string default_shm_dir() { return launch::shm_dir(launch::own_environment()).string(); }

void check_shm_dir(const std::string& shm_dir) {
  if (shm_dir.empty())
    throw std::runtime_error(
        "SHM_DIR is empty: processes keep their rings in private memory, which no other program sees");
}

std::string nothing_found(const std::string& processes, const std::string& run_id, const std::string& shm_dir) {
  return fmt::format(
      "{}{} keeps its rings in {}: is telemetry on (NEMO_LENS_ENABLED=1), does this rank export, and is it the same "
      "user "
      "and machine?",
      processes, run_id.empty() ? "" : " of run " + run_id, shm_dir);
}

}  // namespace lens::cli
