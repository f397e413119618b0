// SPDX-License-Identifier: Apache-2.0
#include "lens/config.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "src/setup/environment.h"

namespace lens {
namespace {

using setup::Family;
using setup::Setting;
using setup::Variable;

void add_warning(Config& config, std::string warning) {
  if (std::ranges::find(config.warnings, warning) == config.warnings.end())
    config.warnings.push_back(std::move(warning));
}

/// Runs the reader of a standard variable, whose malformed value must not stop the job.
template <typename Read>
void read_or_warn(Config& config, const Read& read) {
  try {
    read();
  } catch (const std::invalid_argument& error) {
    add_warning(config, std::string{error.what()} + "; the default is used");
  }
}

void apply_standard(Config& config, const Variable& variable) {
  static const std::string no_prefix[] = {""};
  if (const auto setting = setup::find_setting(variable, no_prefix))
    read_or_warn(config, [&] { variable.apply(config, *setting); });
}

void apply_otlp(Config& config, const Variable& variable, OtlpConfig& otlp, const std::string& signal) {
  for (const std::string& prefix : {std::string{"OTEL_EXPORTER_OTLP_"}, "OTEL_EXPORTER_OTLP_" + signal}) {
    const auto setting = setup::find_setting(variable, std::span{&prefix, 1});
    if (setting) read_or_warn(config, [&] { variable.apply_otlp(otlp, *setting); });
    if (setting && variable.key == "ENDPOINT") otlp.endpoint_is_full = prefix.ends_with(signal);
  }
}

void apply(Config& config, const Variable& variable, std::span<const std::string> prefixes) {
  switch (variable.family) {
    case Family::prefixed:
      if (const auto setting = setup::find_setting(variable, prefixes)) variable.apply(config, *setting);
      break;
    case Family::standard: apply_standard(config, variable); break;
    case Family::otlp:
      apply_otlp(config, variable, config.standard.otlp_traces, "TRACES_");
      apply_otlp(config, variable, config.standard.otlp_metrics, "METRICS_");
      apply_otlp(config, variable, config.standard.otlp_logs, "LOGS_");
      break;
    case Family::detected: break;
  }
}

}  // namespace

Config Config::from_env(const EnvOptions& options) {
  Config config;
  config.vocabulary = options.vocabulary;
  config.prefix = options.prefix;
  std::vector<std::string> prefixes;
  for (const std::string& prefix : {options.prefix, options.fallback_prefix}) {
    if (!prefix.empty()) prefixes.push_back(prefix + "_");
  }
  for (const Variable& variable : setup::variables()) apply(config, variable, prefixes);
  for (std::string& warning : setup::unknown_variables(prefixes)) add_warning(config, std::move(warning));
  return config;
}

GroupSet Config::resolved_span_groups() const { return vocabulary.get().resolve(span_groups); }

std::string Config::default_spool_dir() {
  if (const auto state = setup::read_variable("XDG_STATE_HOME")) return *state + "/lens/spool";
  const auto home = setup::read_variable("HOME");
  return home ? *home + "/.local/state/lens/spool" : "";
}

std::string Config::default_shm_dir() { return "/dev/shm/lens-" + std::to_string(getuid()); }

}  // namespace lens
