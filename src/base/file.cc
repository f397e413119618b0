// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.h"

#include <unistd.h>

#include <cerrno>
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

bool write_all(int file, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace lens::base
