// SPDX-License-Identifier: Apache-2.0
// The attributes of a whole process (service, rank, host, model size), sent once with everything that it records.
// Include this to add your own to set-up: `setup_telemetry(config, rank, {{"dl.batch_size", 16}, {"megatron.precision",
// "bf16"}})`.
//
// Threads:   plain values.
// Ownership: the attributes own their keys and values.
// Errors:    a value of any other type, or one that would lose digits (an unsigned 64-bit number), does not compile.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lens {

/// What a resource attribute holds. Smaller integers become std::int64_t, float becomes double, literals std::string.
using AttributeValue = std::variant<bool, std::int64_t, double, std::string, std::vector<bool>,
                                    std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

/// Keys and values; of two with one key the later wins.
using ResourceAttributes = std::vector<std::pair<std::string, AttributeValue>>;

}  // namespace lens
