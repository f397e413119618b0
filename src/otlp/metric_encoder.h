// SPDX-License-Identifier: Apache-2.0
// Metrics as OTLP protobuf. They are few and rare: written for simplicity, where spans are written for speed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/model/metric.h"

namespace lens::otlp {

/// A run of ScopeMetrics.metrics elements, for an Envelope to make a request of. Sums are cumulative since
/// `start_unix_ns`; metrics without points are left out.
std::string encoded_metrics(std::span<const model::Metric> metrics, std::uint64_t start_unix_ns,
                            std::uint64_t now_unix_ns);

}  // namespace lens::otlp
