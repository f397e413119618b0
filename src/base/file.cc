// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.h"

#include <fstream>
#include <iterator>

namespace lens::base {

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::string content{std::istreambuf_iterator<char>{file}, {}};
  if (!file) return std::nullopt;
  return content;
}

}  // namespace lens::base
