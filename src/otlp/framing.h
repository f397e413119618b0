// SPDX-License-Identifier: Apache-2.0
// The framing of a trace file (docs/trace_directory.md): a 4-byte big-endian length, one zstd frame.
//
// Threads:   one at a time.
// Ownership: the frame is valid until the next call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ZSTD_CCtx_s;

namespace lens::otlp {

class Framer {
 public:
  Framer();

  /// Empty when compression failed, for want of memory.
  std::string_view frame(std::string_view message);

 private:
  std::unique_ptr<ZSTD_CCtx_s, std::size_t (*)(ZSTD_CCtx_s*)> zstd_;
  std::string frame_;
};

/// The message of a file that holds one frame whose size is known, as `Framer` writes them. Nothing when it is damaged.
std::optional<std::string> unframed(std::string_view frame);

}  // namespace lens::otlp
