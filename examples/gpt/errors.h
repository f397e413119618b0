// SPDX-License-Identifier: Apache-2.0
// What went wrong, in one line.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace gpt {

// The first line: libtorch's own messages go on with a dump of the stack.
inline std::string message_of(const std::exception& error) {
  const std::string_view message = error.what();
  return std::string(message.substr(0, message.find('\n')));
}

}  // namespace gpt
