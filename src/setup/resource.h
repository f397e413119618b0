// SPDX-License-Identifier: Apache-2.0
// What is said about the whole process.
//
// Cost: well below 50 ms, whatever the host is like. Only variables, the kernel and a few small files of this host are
// asked, none of which waits for another one: no device is opened, no name looked up, no process started, and what
// stands in the place of a file but is a pipe or a device is passed over.
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

/// What names this machine; empty where nothing does.
std::string host_id(const std::filesystem::path& file = "/etc/machine-id");

/// The namespace of the pod, which the service account that is mounted into every pod names; empty outside of one.
std::string pod_namespace(
    const std::filesystem::path& service_account = "/var/run/secrets/kubernetes.io/serviceaccount");

/// Of one key: the caller's value, else that of OTEL_RESOURCE_ATTRIBUTES, else what is detected, else a default; but
/// the configured service name goes before OTEL_RESOURCE_ATTRIBUTES.
ResourceAttributes make_resource(const Config& config, const Identity& identity, const ResourceAttributes& caller);

}  // namespace lens::setup
