// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace lens::test {

/// The message of the std::invalid_argument that a call throws; a text that no message has when it throws none.
template <typename Call>
std::string invalid_argument_of(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(no std::invalid_argument was thrown)";
}

}  // namespace lens::test
