// SPDX-License-Identifier: Apache-2.0
// A variable as found in the environment, and how its text becomes a value.
// Errors: every function throws std::invalid_argument that names the variable, its value and what is expected.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lens::setup {

struct Setting {
  std::string name;   ///< in full, as the environment spells it
  std::string value;  ///< trimmed
};

/// Throws std::invalid_argument: "NAME: "value" is not <expected>".
[[noreturn]] void reject(const Setting& setting, std::string_view expected);

/// 1/0, true/false, yes/no, on/off, in any case.
bool boolean(const Setting& setting);

int integer(const Setting& setting, int minimum);
std::size_t count(const Setting& setting, std::size_t minimum = 0);

/// 0 … 1; NaN is none.
double ratio(const Setting& setting);

/// A whole number of milliseconds, the unit of the OpenTelemetry variables.
std::chrono::milliseconds duration(const Setting& setting, std::chrono::milliseconds minimum = {});

/// A number of bytes with or without a unit: 4096, 512MiB, 2G (binary), 1GB (decimal), in any case.
std::uint64_t size_bytes(const Setting& setting);

/// One of a list, in any case; in lower case.
std::string choice(const Setting& setting, std::initializer_list<std::string_view> choices);

/// The items of a comma list, trimmed, empty ones left out; `none` leaves out what stands before it.
std::vector<std::string> words(const Setting& setting);

/// `key=value,key=value`, percent-decoded; a value may hold `=`, a key may not be empty. What is thrown names the item
/// by its number: it may hold credentials.
std::vector<std::pair<std::string, std::string>> pairs(const Setting& setting);

}  // namespace lens::setup
