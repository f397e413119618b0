// SPDX-License-Identifier: Apache-2.0
#include "src/model/otlp_header.h"

#include <algorithm>
#include <iterator>

#include "src/base/text.h"

namespace lens::model {

bool is_header_name(std::string_view name) {
  static constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  const auto is_of_token = [](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
  };
  return !name.empty() && std::ranges::all_of(name, is_of_token);
}

std::string_view why_not_sent(std::string_view name, std::string_view value) {
  static constexpr std::string_view ours[] = {"content-type",  "content-length", "content-encoding", "te",
                                              "grpc-encoding", "grpc-timeout",   "transfer-encoding"};
  constexpr std::string_view line_ends("\r\n\0", 3);
  if (!is_header_name(name)) return "no header has such a name; it is written as name=value";
  if (std::ranges::find(ours, base::lower(name)) != std::end(ours)) return "the protocol sets it itself";
  if (value.find_first_of(line_ends) != std::string_view::npos) return "no header's value holds a line end or a NUL";
  return {};
}

}  // namespace lens::model
