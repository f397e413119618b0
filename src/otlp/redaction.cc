// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/redaction.h"

#include <algorithm>

#include "src/base/text.h"

namespace lens::otlp {

namespace {

bool is_same_word(std::string_view left, std::string_view right) {
  return left.size() == right.size() && base::lower(left) == base::lower(right);
}

}  // namespace

bool is_redacted(std::string_view key, const std::vector<std::string>& redacted) {
  static constexpr std::string_view suffixes[] = {"password", "token", "secret", "key"};
  const auto is_listed = [&](std::string_view word) {
    return std::ranges::any_of(redacted, [&](std::string_view listed) { return is_same_word(listed, word); });
  };
  if (is_listed(key)) return true;
  return std::ranges::any_of(suffixes, [&](std::string_view suffix) {
    if (key.size() <= suffix.size()) return false;
    const std::size_t start = key.size() - suffix.size();
    const bool is_last_part = key[start - 1] == '.' || key[start - 1] == '_';
    return is_last_part && is_same_word(key.substr(start), suffix) && is_listed(suffix);
  });
}

}  // namespace lens::otlp
