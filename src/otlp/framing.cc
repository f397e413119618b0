// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/framing.h"

#include <zstd.h>

namespace lens::otlp {
namespace {

// Level 1 compresses spans as well as level 3, and takes half the time.
constexpr int compression_level = 1;
constexpr std::size_t length_bytes = 4;
// No request comes near it: what a damaged frame claims must not be allocated.
constexpr unsigned long long most_message_bytes = 64 << 20;

}  // namespace

Framer::Framer() : zstd_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, compression_level);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_checksumFlag, 1);
}

std::string_view Framer::frame(std::string_view message) {
  frame_.resize(length_bytes + ZSTD_compressBound(message.size()));
  const std::size_t compressed = ZSTD_compress2(zstd_.get(), frame_.data() + length_bytes, frame_.size() - length_bytes,
                                                message.data(), message.size());
  if (ZSTD_isError(compressed)) return {};
  for (std::size_t i = 0; i < length_bytes; ++i)
    frame_[i] = static_cast<char>(compressed >> 8 * (length_bytes - 1 - i));
  return std::string_view(frame_).substr(0, length_bytes + compressed);
}

std::optional<std::string> unframed(std::string_view frame) {
  if (frame.size() < length_bytes) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) size = size << 8 | static_cast<unsigned char>(frame[i]);
  frame.remove_prefix(length_bytes);
  if (frame.size() != size) return std::nullopt;
  // Unknown and damaged sizes are the largest numbers.
  const unsigned long long message_bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (message_bytes > most_message_bytes) return std::nullopt;
  std::string message(message_bytes, '\0');
  const std::size_t read = ZSTD_decompress(message.data(), message.size(), frame.data(), frame.size());
  if (ZSTD_isError(read) || read != message.size()) return std::nullopt;
  return message;
}

}  // namespace lens::otlp
