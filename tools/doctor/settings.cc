// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/settings.h"

#include <optional>
#include <stdexcept>

#include "src/base/text.h"
#include "src/export/endpoint.h"
#include "src/model/otlp_header.h"

namespace lens::doctor {
namespace {

using setup::Family;
using setup::Setting;
using setup::Variable;

const std::string otlp_prefix = "OTEL_EXPORTER_OTLP_";

/// What is wrong with the value; empty when it is one.
std::string problem_of(const Variable& variable, const Setting& setting) try {
  Config config;
  OtlpConfig otlp;
  if (variable.of_config.apply) variable.of_config.apply(config, setting);
  if (variable.of_otlp.apply) variable.of_otlp.apply(otlp, setting);
  return "";
} catch (const std::invalid_argument& error) {
  return error.what();
}

/// Names of headers without their values, which may be credentials. What is no name may be a value at the wrong place.
std::string header_names(const std::string& headers) {
  std::vector<std::string> names;
  for (const std::string_view header : base::split(headers, ',')) {
    const auto name = base::trim(header.substr(0, header.find('=')));
    if (!name.empty()) names.push_back((model::is_header_name(name) ? std::string(name) + "=" : "") + "…");
  }
  return base::join(names, ",");
}

/// What may hold credentials is shown without them.
std::string shown(const Variable& variable, const std::string& value) {
  if (variable.family == Family::otlp && variable.key == "HEADERS") return header_names(value);
  const bool is_server = variable.key == "ENDPOINT" || variable.key.ends_with("_proxy");
  return is_server ? exporting::without_credentials(value) : value;
}

EffectiveSetting effective(const Variable& variable, std::span<const std::string> prefixes) {
  EffectiveSetting effective{.family = variable.family, .key = variable.key, .value = std::string(variable.fallback)};
  for (const std::string& prefix : prefixes) {
    const auto setting = setup::find_setting(variable, std::span(&prefix, 1));
    if (!setting) continue;
    const std::string problem = problem_of(variable, *setting);
    if (effective.problem.empty()) effective.problem = problem;
    // A malformed prefixed value is an error, another one is passed over.
    if (!problem.empty() && variable.family != Family::prefixed) continue;
    effective.value = shown(variable, setting->value);
    effective.variable = setting->name;
    break;
  }
  return effective;
}

}  // namespace

std::vector<EffectiveSetting> effective_settings(std::span<const std::string> prefixes) {
  static const std::string no_prefix[] = {""};
  std::vector<EffectiveSetting> settings;
  for (const Variable& variable : setup::variables()) {
    if (variable.family == Family::prefixed) {
      settings.push_back(effective(variable, prefixes));
    } else if (variable.family != Family::otlp) {
      settings.push_back(effective(variable, no_prefix));
    } else {
      for (const auto& [signal, name] : {std::pair{"traces", "TRACES_"}, {"metrics", "METRICS_"}, {"logs", "LOGS_"}}) {
        const std::string own_and_general[] = {otlp_prefix + name, otlp_prefix};
        settings.push_back(effective(variable, own_and_general));
        settings.back().signal = signal;
      }
    }
  }
  return settings;
}

}  // namespace lens::doctor
