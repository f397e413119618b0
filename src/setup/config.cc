// SPDX-License-Identifier: Apache-2.0
#include "lens/config.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "src/base/text.h"
#include "src/model/otlp_header.h"
#include "src/model/signal.h"
#include "src/setup/environment.h"
#include "src/setup/propagation.h"

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
void read_or_warn(Config& config, const Variable& variable, const Read& read) {
  try {
    read();
  } catch (const std::invalid_argument& error) {
    const bool has_default = !variable.fallback.empty();
    add_warning(config, std::string{error.what()} + (has_default ? "; the default is used" : "; it is passed over"));
  }
}

void apply_standard(Config& config, const Variable& variable) {
  static const std::string no_prefix[] = {""};
  if (const auto setting = setup::find_setting(variable, no_prefix))
    read_or_warn(config, variable, [&] { variable.of_config.apply(config, *setting); });
}

void warn_of_unsent_headers(Config& config, const std::string& variable, const OtlpConfig& otlp) {
  std::size_t number = 0;
  for (const auto& [name, value] : otlp.headers) {
    ++number;
    const std::string_view why = model::why_not_sent(name, value);
    const std::string header = model::is_header_name(name) ? name : "header " + std::to_string(number);
    if (!why.empty()) add_warning(config, variable + ": " + header + " is not sent: " + std::string{why});
  }
}

void apply_otlp(Config& config, const Variable& variable, OtlpConfig& otlp, const std::string& signal) {
  for (const std::string& prefix : {std::string{"OTEL_EXPORTER_OTLP_"}, "OTEL_EXPORTER_OTLP_" + signal}) {
    const auto setting = setup::find_setting(variable, std::span{&prefix, 1});
    if (!setting) continue;
    read_or_warn(config, variable, [&] {
      variable.of_otlp.apply(otlp, *setting);
      if (variable.key == "HEADERS") warn_of_unsent_headers(config, setting->name, otlp);
    });
    if (variable.key == "ENDPOINT") otlp.endpoint_is_full = prefix.ends_with(signal);
  }
}

void apply(Config& config, const Variable& variable, std::span<const std::string> prefixes) {
  switch (variable.family) {
    case Family::prefixed:
      if (const auto setting = setup::find_setting(variable, prefixes)) variable.of_config.apply(config, *setting);
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

/// What the prefixed variables leave open. There is one exporter for all signals, which that of traces chooses.
void apply_standard_exporters(Config& config, std::span<const std::string> prefixes) {
  const auto is_set = [&](std::string_view key) {
    const auto variable = std::ranges::find(setup::variables(), key, &Variable::key);
    return setup::find_setting(*variable, prefixes).has_value();
  };
  const auto turn_off = [&](const std::string& exporter, std::string_view enabled_key, bool& enabled) {
    if (exporter == "none" && !is_set(enabled_key)) enabled = false;
  };
  const StandardConfig& standard = config.standard;
  turn_off(standard.traces_exporter, "TRACES_ENABLED", config.traces_enabled);
  turn_off(standard.metrics_exporter, "METRICS_ENABLED", config.metrics_enabled);
  turn_off(standard.logs_exporter, "LOGS_ENABLED", config.logs_enabled);
  if (is_set("EXPORTER")) return;
  if (!standard.traces_exporter.empty() && standard.traces_exporter != "none")
    config.exporter = standard.traces_exporter;
  const auto warn_of_another = [&](const std::string& variable, const std::string& exporter) {
    if (exporter.empty() || exporter == "none" || exporter == config.exporter) return;
    add_warning(config, variable + "=" + exporter + " is passed over: signals share one exporter, which is " +
                            config.exporter + " (OTEL_TRACES_EXPORTER)");
  };
  warn_of_another("OTEL_METRICS_EXPORTER", standard.metrics_exporter);
  warn_of_another("OTEL_LOGS_EXPORTER", standard.logs_exporter);
}

/// With http the path of a signal is appended to the general endpoint, whatever that ends in.
void warn_of_doubled_paths(Config& config) {
  const StandardConfig& standard = config.standard;
  for (const OtlpConfig* otlp : {&standard.otlp_traces, &standard.otlp_metrics, &standard.otlp_logs})
    for (const SignalTerms& signal : signal_terms) {
      const std::string path = "/v1/" + std::string{signal.name};
      const bool is_base = otlp->protocol != OtlpProtocol::grpc && !otlp->endpoint_is_full;
      if (is_base && (otlp->endpoint.ends_with(path) || otlp->endpoint.ends_with(path + '/')))
        add_warning(config, "OTEL_EXPORTER_OTLP_ENDPOINT ends in " + path +
                                ", to which the path of each signal is appended: leave that out, or give the URL to "
                                "OTEL_EXPORTER_OTLP_" +
                                base::upper(signal.name) + "_ENDPOINT, which takes it as it is");
    }
}

}  // namespace

Config Config::from_env(const EnvOptions& options) {
  Config config;
  config.vocabulary = options.vocabulary;
  config.prefix = options.prefix;
  config.fallback_prefix = options.fallback_prefix;
  const std::vector<std::string> prefixes = setup::prefixes_of(options);
  for (const Variable& variable : setup::variables()) apply(config, variable, prefixes);
  apply_standard_exporters(config, prefixes);
  warn_of_doubled_paths(config);
  config.started_in = setup::read_propagation(setup::propagators_of(config.standard), config.warnings);
  for (std::string& warning : setup::unknown_variables(prefixes)) add_warning(config, std::move(warning));
  for (std::string& warning : setup::mistyped_standard_variables()) add_warning(config, std::move(warning));
  return config;
}

bool operator==(const Config& left, const Config& right) {
  const auto prefixed_fields = [](const Config& c) {
    return std::tie(c.enabled, c.span_groups, c.export_strategy, c.export_rank, c.export_sample_rate, c.sampler_enabled,
                    c.traces_enabled, c.metrics_enabled, c.logs_enabled, c.sample_every_n_steps, c.exporter, c.file_dir,
                    c.file_format, c.file_max_size_bytes, c.spool_dir, c.spool_size_bytes, c.shm_dir, c.run_id,
                    c.user_id, c.shutdown_timeout, c.redacted_keys);
  };
  const auto other_fields = [](const Config& c) {
    return std::tie(c.service_name, c.wandb_entity, c.wandb_project, c.deployment_environment, c.standard,
                    c.replace_running);
  };
  return prefixed_fields(left) == prefixed_fields(right) && other_fields(left) == other_fields(right) &&
         &left.vocabulary.get() == &right.vocabulary.get();
}

GroupSet Config::resolved_span_groups() const { return vocabulary.get().resolve(span_groups); }

std::string Config::default_spool_dir() {
  if (const auto state = setup::read_variable("XDG_STATE_HOME")) return *state + "/lens/spool";
  const auto home = setup::read_variable("HOME");
  return home ? *home + "/.local/state/lens/spool" : "";
}

std::string Config::default_shm_dir() { return "/dev/shm/lens-" + std::to_string(getuid()); }

}  // namespace lens
