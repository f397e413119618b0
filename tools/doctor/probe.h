// SPDX-License-Identifier: Apache-2.0
// Sends one span to a collector and explains what came of it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "lens/config.h"
#include "lens/resource.h"

namespace lens::doctor {

struct ProbeResult {
  bool is_taken = false;
  std::string_view cause = {};  // ok, host_name, connection, timeout, tls, protocol, credentials, path or other
  std::string destination = {}, message = {}, remedy = {};
  std::chrono::milliseconds took{0};
};

/// Blocks for OTEL_EXPORTER_OTLP_TIMEOUT at most; tries once. Throws std::invalid_argument when the endpoint is none.
ProbeResult probe(const OtlpConfig& otlp, const ResourceAttributes& resource);

}  // namespace lens::doctor
