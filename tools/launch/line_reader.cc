// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/line_reader.h"

#include <unistd.h>

#include <cerrno>

namespace lens::launch {
namespace {

constexpr std::size_t max_line_bytes = 64 * 1024;

}  // namespace

void LineReader::read_available(const OnLine& on_line) {
  char chunk[16 * 1024];
  while (is_open()) {
    ssize_t got = read(fd_.get(), chunk, sizeof chunk);
    if (got > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(got));
      split(on_line);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN) {
      return;
    } else {
      finish(on_line);
    }
  }
}

void LineReader::finish(const OnLine& on_line) {
  if (!buffer_.empty()) on_line(buffer_);
  buffer_.clear();
  fd_.reset();
}

void LineReader::split(const OnLine& on_line) {
  std::size_t start = 0;
  for (std::size_t end; (end = buffer_.find('\n', start)) != std::string::npos; start = end + 1) {
    on_line(std::string_view(buffer_).substr(start, end - start));
  }
  buffer_.erase(0, start);
  if (buffer_.size() < max_line_bytes) return;
  on_line(buffer_);
  buffer_.clear();
}

}  // namespace lens::launch
