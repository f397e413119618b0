// SPDX-License-Identifier: Apache-2.0
// Every variable of the configuration: what applies here, and where it comes from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/setup/environment.h"

namespace lens::doctor {

struct EffectiveSetting {
  setup::Family family;
  std::string_view key;
  std::string_view signal = {};  // of an OTLP variable: traces, metrics, logs
  std::string value = {};        // what the credentials among OTLP headers are is not told
  std::string variable = {};     // that it was read from; empty: the default, or nothing, applies
  std::string problem = {};      // of a value that is malformed
};

/// In the order of the table; an OTLP variable once for each signal.
std::vector<EffectiveSetting> effective_settings(std::span<const std::string> prefixes);

}  // namespace lens::doctor
