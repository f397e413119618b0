// SPDX-License-Identifier: Apache-2.0
#include "src/setup/binding.h"

#include <charconv>
#include <type_traits>
#include <variant>

#include "src/base/text.h"

namespace lens::setup {
namespace {

struct ToText {
  std::string operator()(const std::string& value) const { return value; }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::vector<std::string> texts;
    for (const auto& value : values) texts.push_back((*this)(T(value)));
    return base::join(texts, ",");
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return text_of(value); }
};

}  // namespace

std::string text_of(bool value) { return value ? "1" : "0"; }
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(std::uint64_t value) { return std::to_string(value); }
std::string text_of(std::chrono::milliseconds value) { return std::to_string(value.count()); }

std::string text_of(double value) {
  char digits[32];  // the shortest that reads as the same number takes 24
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string text_of(const std::vector<std::string>& words) { return words.empty() ? "none" : base::join(words, ","); }

std::string text_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<std::string> items;
  for (const auto& [key, value] : pairs)
    items.push_back(base::percent_encoded(key) + "=" + base::percent_encoded(value));
  return base::join(items, ",");
}

std::string text_of(const ResourceAttributes& attributes) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [key, value] : attributes) pairs.emplace_back(key, std::visit(ToText{}, value));
  return text_of(pairs);
}

}  // namespace lens::setup
