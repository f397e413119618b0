// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/framing.h"

#include <zstd.h>

#include <algorithm>
#include <optional>

namespace lens::otlp {
namespace {

constexpr std::size_t length_bytes = 4;
// No request comes near it: what a damaged frame claims must not be allocated.
constexpr std::size_t most_message_bytes = 64 << 20;

ZSTD_CCtx* new_compressor() {
  ZSTD_CCtx* const compressor = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, zstd_level);
  ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1);
  return compressor;
}

void put_length(std::string& frame, std::size_t bytes) {
  for (std::size_t i = 0; i < length_bytes; ++i) frame[i] = static_cast<char>(bytes >> 8 * (length_bytes - 1 - i));
}

}  // namespace

Framer::Framer() : zstd_(new_compressor(), ZSTD_freeCCtx) {}

std::string_view Framer::frame(std::string_view message) {
  frame_.resize(length_bytes + ZSTD_compressBound(message.size()));
  const std::size_t compressed = ZSTD_compress2(zstd_.get(), frame_.data() + length_bytes, frame_.size() - length_bytes,
                                                message.data(), message.size());
  if (ZSTD_isError(compressed)) return {};
  put_length(frame_, compressed);
  return std::string_view(frame_).substr(0, length_bytes + compressed);
}

SmallFramer::SmallFramer() : zstd_(new_compressor(), ZSTD_freeCCtx) {
  constexpr int small_window = 15;  // bits: 32 KiB
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_windowLog, small_window);
}

std::string SmallFramer::frame(std::string_view head, std::string_view rest) {
  ZSTD_CCtx_reset(zstd_.get(), ZSTD_reset_session_only);
  ZSTD_CCtx_setPledgedSrcSize(zstd_.get(), head.size() + rest.size());  // whoever reads it asks for its size
  std::string frame(length_bytes, '\0');
  for (const bool is_last : {false, true}) {
    const std::string_view piece = is_last ? rest : head;
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    std::size_t left = 0;
    do {
      char room[16 << 10];
      ZSTD_outBuffer out{room, sizeof room, 0};
      left = ZSTD_compressStream2(zstd_.get(), &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left)) return {};
      frame.append(room, out.pos);
    } while (is_last ? left > 0 : in.pos < in.size);
  }
  put_length(frame, frame.size() - length_bytes);
  return frame;
}

namespace {

/// Without its length; empty where there is no whole one.
std::string_view first_frame(std::string_view frames) {
  if (frames.size() < length_bytes) return {};
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) size = size << 8 | static_cast<unsigned char>(frames[i]);
  return frames.size() - length_bytes < size ? std::string_view() : frames.substr(length_bytes, size);
}

/// Nothing where the frame does not say it, or claims too much: unknown and damaged sizes are the largest numbers.
std::optional<std::size_t> message_bytes_of(std::string_view frame) {
  const unsigned long long bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (frame.empty() || bytes > most_message_bytes) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Unframed unframed(std::string_view frames) {
  std::size_t whole_bytes = 0;
  for (auto rest = frames; const auto bytes = message_bytes_of(first_frame(rest));) {
    whole_bytes += *bytes;
    rest.remove_prefix(length_bytes + first_frame(rest).size());
  }
  Unframed read;
  std::string& messages = read.messages;
  messages.reserve(std::min(whole_bytes, most_message_bytes));
  while (const auto bytes = message_bytes_of(first_frame(frames.substr(read.bytes)))) {
    const std::string_view frame = first_frame(frames.substr(read.bytes));
    const std::size_t before = messages.size();
    messages.resize(before + *bytes);
    const std::size_t got = ZSTD_decompress(messages.data() + before, *bytes, frame.data(), frame.size());
    if (ZSTD_isError(got) || got != *bytes) {
      messages.resize(before);
      break;
    }
    read.bytes += length_bytes + frame.size();
  }
  return read;
}

}  // namespace lens::otlp
