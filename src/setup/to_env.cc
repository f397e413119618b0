// SPDX-License-Identifier: Apache-2.0
// A configuration as variables: Config::from_env the other way around.
#include <algorithm>
#include <array>

#include "lens/config.h"
#include "src/setup/environment.h"
#include "src/setup/identity.h"

namespace lens {
namespace {

using setup::Family;
using setup::Variable;
using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view generic = "OTEL_EXPORTER_OTLP_";

/// A value goes to the first of its names, which wins. An empty one goes to all: whatever is inherited must not show.
void put(Variables& variables, const std::vector<std::string>& names, const std::string& value, bool empty_is_a_value) {
  const std::size_t count = value.empty() && !empty_is_a_value ? names.size() : 1;
  for (std::size_t i = 0; i < count; ++i) variables.emplace_back(names[i], value);
}

struct Signal {
  std::string prefix, path;
  const OtlpConfig& config;
};

/// The URL that a signal's requests go to, for the variable of that signal, which is used as it is.
std::string full_endpoint(const Signal& signal) {
  const OtlpConfig& config = signal.config;
  if (config.endpoint.empty() || config.endpoint_is_full || config.protocol == OtlpProtocol::grpc)
    return config.endpoint;
  return config.endpoint + (config.endpoint.ends_with('/') ? "" : "/") + signal.path;
}

/// One base for all signals stays one; bases that differ, which only a program can set, become full URLs.
void put_endpoints(Variables& variables, std::span<const Signal> signals) {
  const std::string& base = signals.front().config.endpoint;
  const bool is_shared = std::ranges::all_of(
      signals, [&](const Signal& signal) { return !signal.config.endpoint_is_full && signal.config.endpoint == base; });
  variables.emplace_back(std::string{generic} + "ENDPOINT", is_shared ? base : "");
  for (const Signal& signal : signals)
    variables.emplace_back(signal.prefix + "ENDPOINT", is_shared ? "" : full_endpoint(signal));
}

void put_otlp(Variables& variables, const Variable& variable, std::span<const Signal> signals) {
  if (variable.key == "ENDPOINT") return put_endpoints(variables, signals);
  const std::string key{variable.key};
  for (const Signal& signal : signals)
    put(variables, {signal.prefix + key, std::string{generic} + key}, variable.of_otlp.text(signal.config), false);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Config::to_env(const EnvOptions& options) const {
  const std::array<Signal, 3> signals{{{"OTEL_EXPORTER_OTLP_TRACES_", "v1/traces", standard.otlp_traces},
                                       {"OTEL_EXPORTER_OTLP_METRICS_", "v1/metrics", standard.otlp_metrics},
                                       {"OTEL_EXPORTER_OTLP_LOGS_", "v1/logs", standard.otlp_logs}}};
  const std::vector<std::string> prefixes = setup::prefixes_of(options);
  static const std::vector<std::string> no_prefix{""};
  Config said = *this;
  // A worker's would be its own. One that is too long to be set comes from a launcher's variables, which it inherits.
  if (std::string run = setup::own_run_id(*this); run.size() <= setup::longest_run_id) said.run_id = std::move(run);
  Variables variables;
  for (const Variable& variable : setup::variables()) {
    if (variable.family == Family::otlp) put_otlp(variables, variable, signals);
    if (!variable.of_config.text) continue;
    const auto& before = variable.family == Family::prefixed ? prefixes : no_prefix;
    put(variables, setup::names_of(variable, before), variable.of_config.text(said), variable.empty_is_a_value);
  }
  return variables;
}

std::vector<std::pair<std::string, std::string>> Config::to_env() const {
  EnvOptions options;
  options.prefix = prefix;
  options.fallback_prefix = fallback_prefix;
  return to_env(options);
}

}  // namespace lens
