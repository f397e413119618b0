// SPDX-License-Identifier: Apache-2.0
// What is said about the whole process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lens/config.h"
#include "lens/rank.h"
#include "lens/resource.h"

namespace lens::setup {

struct Identity {
  Rank rank;
  std::string run_id;
  std::string instance_id;
};

/// How many devices the driver lists in its directory; nothing without a driver.
std::optional<int> driver_gpu_count(const std::filesystem::path& directory = "/proc/driver/nvidia/gpus");

/// Of one key: the caller's value, else that of OTEL_RESOURCE_ATTRIBUTES, else what is detected, else a default; but
/// the configured service name goes before OTEL_RESOURCE_ATTRIBUTES. Starts no process and opens no device.
ResourceAttributes make_resource(const Config& config, const Identity& identity, const ResourceAttributes& caller);

}  // namespace lens::setup
