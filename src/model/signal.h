// SPDX-License-Identifier: Apache-2.0
// The kinds of telemetry, each with files, requests and endpoints of its own.
#pragma once

#include <string_view>

namespace lens {

enum class Signal { traces, metrics, logs };

/// As endpoints and file names spell it.
constexpr std::string_view signal_name(Signal signal) noexcept {
  return signal == Signal::traces ? "traces" : signal == Signal::metrics ? "metrics" : "logs";
}

}  // namespace lens
