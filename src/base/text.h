// SPDX-License-Identifier: Apache-2.0
// Small operations on text that more than one folder needs. ASCII only: no locale is asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lens::base {

/// Without the spaces, tabs and line ends around it.
std::string_view trim(std::string_view text);

/// The parts between separators, empty ones included; one empty part for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

/// In lower case, in upper case: ASCII's letters only.
std::string lower(std::string_view text);
std::string upper(std::string_view text);

/// The parts of any range of strings, one after the other.
template <typename Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string joined;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) joined += separator;
    joined += part;
    first = false;
  }
  return joined;
}

/// "1 span", "2 spans".
std::string counted(std::uint64_t count, std::string_view noun);

/// Everything but letters, digits and `-._~/:` as %XX.
std::string percent_encoded(std::string_view text);

/// Undoes %XX; nothing when an escape is malformed.
std::optional<std::string> percent_decoded(std::string_view text);

/// How many characters must be inserted, removed or replaced to turn one text into the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

/// The candidate that takes the fewest edits from `word`; the first of several, empty when there is none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lens::base
