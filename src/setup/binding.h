// SPDX-License-Identifier: Apache-2.0
// A variable's two ways: from its text into the configuration, and back, so that a spawned worker can be given it.
// Include this to write rows of the table.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lens/resource.h"
#include "src/setup/setting.h"

namespace lens::setup {

template <class Target>
struct Binding {
  void (*apply)(Target&, const Setting&) = nullptr;
  /// What `apply` makes the same value of; empty for what an unset variable means.
  std::string (*text)(const Target&) = nullptr;
};

inline void read(const Setting& setting, bool& field) { field = boolean(setting); }
inline void read(const Setting& setting, double& field) { field = ratio(setting); }
inline void read(const Setting& setting, std::string& field) { field = setting.value; }
inline void read(const Setting& setting, std::size_t& field) { field = count(setting); }
inline void read(const Setting& setting, std::chrono::milliseconds& field) { field = duration(setting); }

std::string text_of(bool value);
std::string text_of(int value);
std::string text_of(std::uint64_t value);
std::string text_of(double value);
inline std::string text_of(std::string value) { return value; }
std::string text_of(std::chrono::milliseconds value);
/// A comma list; `none` when there is nothing in it.
std::string text_of(const std::vector<std::string>& words);
/// `key=value,…`, percent-encoded.
std::string text_of(const std::vector<std::pair<std::string, std::string>>& pairs);
/// The same; a value that is no string becomes one.
std::string text_of(const ResourceAttributes& attributes);

/// A field: bound<Config, &Config::enabled>, bound<Config, &Config::standard, &StandardConfig::span_limits, …>.
template <class Target, auto... path>
constexpr Binding<Target> bound{[](Target& target, const Setting& setting) { read(setting, (target.*....*path)); },
                                [](const Target& target) { return text_of((target.*....*path)); }};

}  // namespace lens::setup
