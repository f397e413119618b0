// SPDX-License-Identifier: Apache-2.0
// The framings of trace files, written as the format describes them.
#pragma once

#include <string>
#include <string_view>

#include <zstd.h>

namespace lens::tests {

/// A 4-byte big-endian length and the bytes.
inline std::string framed(std::string_view bytes) {
  std::string frame;
  for (int shift : {24, 16, 8, 0}) frame += static_cast<char>(bytes.size() >> shift & 0xff);
  return frame.append(bytes);
}

inline std::string compressed(std::string_view bytes) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
  return frame;
}

/// The same without the unpacked size in the frame's header, as writers that stream leave it.
inline std::string compressed_by_stream(std::string_view bytes) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string frame(ZSTD_compressBound(bytes.size()) + 64, '\0');
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  return frame;
}

}  // namespace lens::tests
