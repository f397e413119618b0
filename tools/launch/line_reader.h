// SPDX-License-Identifier: Apache-2.0
// Lines from a pipe that is read without blocking.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tools/launch/rank_process.h"

namespace lens::launch {

class LineReader {
 public:
  using OnLine = std::function<void(std::string_view line)>;

  explicit LineReader(FileDescriptor fd) : fd_(std::move(fd)) {}

  int fd() const noexcept { return fd_.get(); }
  bool is_open() const noexcept { return static_cast<bool>(fd_); }

  /// Hands over what can be read now, line by line; at the end of the stream also a last line without its end. Lines
  /// longer than 64 KiB come in parts.
  void read_available(const OnLine& on_line);

  /// Hands over an unfinished line and closes: for a pipe that others still hold open when its rank is gone.
  void finish(const OnLine& on_line);

 private:
  void split(const OnLine& on_line);

  FileDescriptor fd_;
  std::string buffer_;
};

}  // namespace lens::launch
