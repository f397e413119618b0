// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/run_choice.h"

#include <filesystem>

#include "tools/trace/run_file.h"

namespace lens::cli {

std::string run_id_of(const std::string& run) {
  if (run.empty() || !std::filesystem::is_directory(run)) return run;
  const auto file = trace::read_run_file(run);
  return file ? file->run_id : std::filesystem::path(run).lexically_normal().filename().string();
}

}  // namespace lens::cli
