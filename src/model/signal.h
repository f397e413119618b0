// SPDX-License-Identifier: Apache-2.0
// The kinds of telemetry, each with files, requests and endpoints of its own.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace lens {

enum class Signal { traces, metrics, logs };

/// How each is spelt.
struct SignalTerms {
  std::string_view name;    // in endpoints and in names of files
  std::string_view item;    // what it counts, for people
  std::string_view metric;  // these in OpenTelemetry's names of metrics, with their unit
  std::string_view unit;
  std::string_view exporter;  // in OpenTelemetry's types of exporters
};

inline constexpr std::array<SignalTerms, 3> signal_terms{{
    {"traces", "span", "span", "{span}", "span"},
    {"metrics", "data point", "metric_data_point", "{data_point}", "metric"},
    {"logs", "log record", "log", "{log_record}", "log"},
}};

constexpr const SignalTerms& terms_of(Signal signal) noexcept { return signal_terms[static_cast<std::size_t>(signal)]; }
constexpr std::string_view signal_name(Signal signal) noexcept { return terms_of(signal).name; }
constexpr std::string_view item_of(Signal signal) noexcept { return terms_of(signal).item; }

}  // namespace lens
