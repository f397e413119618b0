// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.h"

#include <fstream>
#include <sstream>

namespace lens::base {

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return std::nullopt;
  std::ostringstream content;
  if (file.peek() != std::ifstream::traits_type::eof()) content << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return std::move(content).str();
}

}  // namespace lens::base
