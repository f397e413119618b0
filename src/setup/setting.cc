// SPDX-License-Identifier: Apache-2.0
#include "src/setup/setting.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <stdexcept>

#include "src/base/text.h"

namespace lens::setup {
namespace {

/// The whole text as a number; nothing when it is none, has a tail or does not fit.
template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return parsed;
}

template <typename Number>
Number at_least(const Setting& setting, Number minimum, std::string_view unit) {
  const auto parsed = number<Number>(setting.value);
  if (!parsed || *parsed < minimum) {
    const bool bounded = minimum > std::numeric_limits<Number>::min() || std::is_unsigned_v<Number>;
    reject(setting, "a whole number" + std::string(unit) + (bounded ? ", at least " + std::to_string(minimum) : ""));
  }
  return *parsed;
}

std::optional<std::uint64_t> bytes_in(std::string_view unit) {
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  static constexpr Unit units[] = {{"", 1},
                                   {"b", 1},
                                   {"k", 1ULL << 10},
                                   {"kib", 1ULL << 10},
                                   {"m", 1ULL << 20},
                                   {"mib", 1ULL << 20},
                                   {"g", 1ULL << 30},
                                   {"gib", 1ULL << 30},
                                   {"t", 1ULL << 40},
                                   {"tib", 1ULL << 40},
                                   {"kb", 1'000},
                                   {"mb", 1'000'000},
                                   {"gb", 1'000'000'000},
                                   {"tb", 1'000'000'000'000}};
  const auto found = std::find_if(std::begin(units), std::end(units), [&](const Unit& u) { return u.name == unit; });
  if (found == std::end(units)) return std::nullopt;
  return found->bytes;
}

}  // namespace

void reject(const Setting& setting, std::string_view expected) {
  throw std::invalid_argument(setting.name + ": \"" + setting.value + "\" is not " + std::string(expected));
}

bool boolean(const Setting& setting) {
  const std::string word = base::lower(setting.value);
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word == "0" || word == "false" || word == "no" || word == "off") return false;
  reject(setting, "a boolean (1/0, true/false, yes/no, on/off)");
}

int integer(const Setting& setting, int minimum) { return at_least<int>(setting, minimum, ""); }

std::size_t count(const Setting& setting, std::size_t minimum) { return at_least<std::size_t>(setting, minimum, ""); }

double ratio(const Setting& setting) {
  const auto parsed = number<double>(setting.value);
  if (!parsed || !(*parsed >= 0.0 && *parsed <= 1.0)) reject(setting, "a number from 0 to 1");
  return *parsed;
}

std::chrono::milliseconds duration(const Setting& setting, std::chrono::milliseconds minimum) {
  return std::chrono::milliseconds{at_least<std::int64_t>(setting, minimum.count(), " of milliseconds")};
}

std::uint64_t size_bytes(const Setting& setting) {
  const std::string text = base::lower(setting.value);
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto amount = number<std::uint64_t>(std::string_view{text}.substr(0, digits));
  const auto unit = bytes_in(base::trim(std::string_view{text}.substr(digits)));
  if (!amount || !unit || *amount > std::numeric_limits<std::uint64_t>::max() / *unit)
    reject(setting, "a size in bytes (such as 4096, 512MiB or 2G)");
  return *amount * *unit;
}

std::string choice(const Setting& setting, std::initializer_list<std::string_view> choices) {
  std::string word = base::lower(setting.value);
  if (std::find(choices.begin(), choices.end(), word) == choices.end())
    reject(setting, "one of " + base::join(choices, ", "));
  return word;
}

std::vector<std::string> words(const Setting& setting) {
  std::vector<std::string> found;
  for (std::string_view item : base::split(setting.value, ',')) {
    item = base::trim(item);
    if (base::lower(item) == "none")
      found.clear();
    else if (!item.empty())
      found.emplace_back(item);
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> pairs(const Setting& setting) {
  std::vector<std::pair<std::string, std::string>> found;
  std::size_t number = 0;
  for (std::string_view item : base::split(setting.value, ',')) {
    ++number;
    if (base::trim(item).empty()) continue;
    const auto equals = item.find('=');
    const auto key = base::percent_decoded(base::trim(item.substr(0, equals)));
    const auto value =
        equals == std::string_view::npos ? std::nullopt : base::percent_decoded(base::trim(item.substr(equals + 1)));
    if (!key || key->empty() || !value)
      throw std::invalid_argument(setting.name + ": item " + std::to_string(number) +
                                  " is not key=value, percent-encoded");
    found.emplace_back(*key, *value);
  }
  return found;
}

}  // namespace lens::setup
