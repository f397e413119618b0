// SPDX-License-Identifier: Apache-2.0
// What a run is made of, and the environment that its ranks find.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lens::launch {

using Environment = std::map<std::string, std::string>;

Environment own_environment();

/// What the user asked for; the rest is derived.
struct RunRequest {
  int world_size = 1;
  std::optional<std::string> span_groups = std::nullopt;
  std::optional<std::filesystem::path> directory = std::nullopt;
  std::vector<std::string> command = {};
  std::chrono::milliseconds grace{10'000};  // between asking the other ranks to end and killing them
};

struct RunPlan {
  RunRequest request;
  std::string run_id;
  std::filesystem::path directory;  // absolute
  std::string span_groups;          // as the ranks find them; empty: their default
  std::string exporter;             // likewise; only `file` leaves a trace in the directory
  std::filesystem::path shm_dir;    // where the ranks' rings are, if anywhere
  std::uint16_t master_port = 0;
};

/// Where programs in this environment keep their files of rings; empty when in private memory.
std::filesystem::path shm_dir(const Environment& environment);

/// The plan of a run that starts now. Telemetry variables of `environment` are respected; those of `request` win.
RunPlan make_plan(const RunRequest& request, const Environment& environment);

/// What torchrun sets, and telemetry on, to a trace directory, from every rank, unless `base` says otherwise.
Environment rank_environment(const Environment& base, const RunPlan& plan, int rank);

/// The words of a spec that neither Lens' nor Megatron's vocabulary knows: fine if the program declares them itself.
std::vector<std::string> unknown_groups(const std::string& spec);

}  // namespace lens::launch
