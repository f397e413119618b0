// SPDX-License-Identifier: Apache-2.0
// Sends one span to a collector and explains what came of it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "lens/config.h"
#include "lens/resource.h"
#include "src/export/transport.h"
#include "src/model/signal.h"

namespace lens::doctor {

struct ProbeResult {
  Signal signal = Signal::traces;
  bool is_taken = false;
  std::string_view cause = {};  // ok, host_name, connection, timeout, tls, protocol, credentials, path or other
  std::string destination = {}, message = {}, remedy = {};
  exporting::Proxy proxy = {};  // that libcurl took; empty: none stands before the destination
  std::chrono::milliseconds took{0};
};

/// Blocks for OTEL_EXPORTER_OTLP_TIMEOUT at most; tries once. Of another signal than spans it sends a request that
/// holds nothing. Throws std::invalid_argument when the endpoint is none.
ProbeResult probe(const OtlpConfig& otlp, Signal signal, const ResourceAttributes& resource);

}  // namespace lens::doctor
