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
    const auto prefix = std::ranges::find_if(prefixes, [&](const std::string& p) { return name.starts_with(p); });
    if (prefix == prefixes.end()) continue;
    const std::string_view key = name.substr(prefix->size());
    if (std::ranges::find(known, key) != known.end()) continue;
    warnings.push_back(std::string{name} + " is not a variable that is read; did you mean " + *prefix +
                       std::string{base::nearest(key, known)} + "?");
  }
  std::ranges::sort(warnings);
  return warnings;
}

}  // namespace lens::setup
