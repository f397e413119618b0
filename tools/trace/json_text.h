// SPDX-License-Identifier: Apache-2.0
// JSON as text. Include it wherever JSON is written: names, paths and commands are whatever bytes programs pass.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace lens::trace {

/// With a newline at its end. Bytes that are no UTF-8 become U+FFFD: `dump` alone throws for them.
template <class Json>
std::string json_text(const Json& value) {
  constexpr int indent = 2;
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// The same on one line.
template <class Json>
std::string json_line(const Json& value) {
  constexpr int on_one_line = -1;
  return value.dump(on_one_line, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace lens::trace
