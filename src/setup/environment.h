// SPDX-License-Identifier: Apache-2.0
// The one place that reads the environment, and the one table of what is read from it. The configuration, its
// documentation and its error messages all come from the table.
//
// Threads: getenv is only safe while no thread changes the environment: everything here is called by set-up.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lens/config.h"
#include "src/setup/binding.h"
#include "src/setup/setting.h"

namespace lens::setup {

enum class Family {
  prefixed,  ///< <PREFIX>_KEY; a malformed value is the user's error
  standard,  ///< KEY; a malformed value warns and keeps the default
  otlp,      ///< OTEL_EXPORTER_OTLP_KEY, and OTEL_EXPORTER_OTLP_{TRACES,METRICS,LOGS}_KEY which win; else as standard
  detected,  ///< KEY, set by launchers, schedulers and drivers; read by rank, identity and resource
};

struct Variable {
  Family family;
  std::string_view key;
  std::string_view aliases;  ///< other keys of the same meaning, comma-separated, asked after it
  std::string_view type;
  std::string_view fallback;  ///< the default, for people
  std::string_view meaning;
  Binding<Config> of_config = {};    ///< of a prefixed or standard variable
  Binding<OtlpConfig> of_otlp = {};  ///< of an otlp variable
  bool empty_is_a_value = false;     ///< set to nothing means something else than unset
};

std::span<const Variable> variables();

/// The value of an unprefixed variable, given its key in the table; aliases are asked too. Trimmed; nothing when unset,
/// empty or blank (unless the table says that empty is a value).
std::optional<std::string> read_variable(std::string_view key);

/// What a prefixed variable's key stands behind, the one that wins first.
std::vector<std::string> prefixes_of(const EnvOptions& options);

/// A variable's names in full, in the order in which they are asked: with each prefix the key and its aliases.
std::vector<std::string> names_of(const Variable& variable, std::span<const std::string> prefixes);

/// The first that is set: `<prefix>_KEY`, its aliases, then the same with the next prefix.
std::optional<Setting> find_setting(const Variable& variable, std::span<const std::string> prefixes);

/// One warning for each variable of the environment that begins with a prefix but is not in the table, naming the
/// nearest if one is near.
std::vector<std::string> unknown_variables(std::span<const std::string> prefixes);
/// The same for variables that begin with OTEL_, where they are all but one that is read: other programs have theirs.
std::vector<std::string> mistyped_standard_variables();

}  // namespace lens::setup
