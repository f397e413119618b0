// SPDX-License-Identifier: Apache-2.0
#include "src/setup/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "src/base/text.h"

namespace lens::setup {
namespace {

std::vector<std::string_view> keys_of(const Variable& variable) {
  std::vector<std::string_view> keys{variable.key};
  for (std::string_view alias : base::split(variable.aliases, ',')) {
    if (!alias.empty()) keys.push_back(alias);
  }
  return keys;
}

std::optional<std::string> from_environment(const std::string& name, bool empty_is_a_value) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  const std::string_view trimmed = base::trim(value);
  if (trimmed.empty() && !empty_is_a_value) return std::nullopt;
  return std::string{trimmed};
}

/// Names beginning with OTEL_ that are read.
std::vector<std::string> standard_names() {
  static const std::string no_prefix[] = {""};
  static const std::string otlp_prefixes[] = {"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_",
                                              "OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_LOGS_"};
  std::vector<std::string> names;
  for (const Variable& variable : variables()) {
    const bool is_otlp = variable.family == Family::otlp;
    if (is_otlp || variable.key.starts_with("OTEL_"))
      for (std::string& name : names_of(variable, is_otlp ? std::span<const std::string>(otlp_prefixes) : no_prefix))
        names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::optional<std::string> read_variable(std::string_view key) {
  const auto variable = std::ranges::find(variables(), key, &Variable::key);
  assert(variable != variables().end() && "every variable that is read stands in the table");
  static const std::string no_prefix[] = {""};
  auto setting = find_setting(*variable, no_prefix);
  if (!setting) return std::nullopt;
  return std::move(setting->value);
}

std::optional<Setting> find_setting(const Variable& variable, std::span<const std::string> prefixes) {
  for (const std::string& name : names_of(variable, prefixes)) {
    if (auto value = from_environment(name, variable.empty_is_a_value)) return Setting{name, *std::move(value)};
  }
  return std::nullopt;
}

std::vector<std::string> prefixes_of(const EnvOptions& options) {
  std::vector<std::string> prefixes;
  for (const std::string& prefix : {options.prefix, options.fallback_prefix}) {
    if (!prefix.empty()) prefixes.push_back(prefix + "_");
  }
  return prefixes;
}

std::vector<std::string> names_of(const Variable& variable, std::span<const std::string> prefixes) {
  std::vector<std::string> names;
  for (const std::string& prefix : prefixes) {
    for (std::string_view key : keys_of(variable)) names.push_back(prefix + std::string{key});
  }
  return names;
}

std::vector<std::string> unknown_variables(std::span<const std::string> prefixes) {
  std::vector<std::string_view> known;
  for (const Variable& variable : variables()) {
    if (variable.family == Family::prefixed) std::ranges::copy(keys_of(variable), std::back_inserter(known));
  }
  std::vector<std::string> warnings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::string_view name = text.substr(0, text.find('='));
    const auto is_known = [&](const std::string& prefix) {
      return name.starts_with(prefix) && std::ranges::find(known, name.substr(prefix.size())) != known.end();
    };
    const auto prefix = std::ranges::find_if(prefixes, [&](const std::string& p) { return name.starts_with(p); });
    if (prefix == prefixes.end() || std::ranges::any_of(prefixes, is_known)) continue;
    const std::string key = base::upper(name.substr(prefix->size()));
    const std::string_view meant = base::nearest(key, known);
    // Of what has less than half in common with it nobody was thinking.
    const bool is_near = base::edit_distance(key, meant) <= std::max(key.size(), meant.size()) / 2;
    warnings.push_back(std::string{name} + " is not a variable that is read" +
                       (is_near ? "; did you mean " + *prefix + std::string{meant} + "?" : ""));
  }
  std::ranges::sort(warnings);
  return warnings;
}

std::vector<std::string> mistyped_standard_variables() {
  constexpr std::size_t most_edits = 2;
  const std::vector<std::string> names = standard_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::vector<std::string> warnings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("OTEL_") || std::ranges::find(known, name) != known.end()) continue;
    const std::string_view meant = base::nearest(name, known);
    if (base::edit_distance(name, meant) <= most_edits)
      warnings.push_back(std::string{name} + " is not a variable that is read; did you mean " + std::string{meant} +
                         "?");
  }
  std::ranges::sort(warnings);
  return warnings;
}

}  // namespace lens::setup
