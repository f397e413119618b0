// SPDX-License-Identifier: Apache-2.0
#include "src/export/compression.h"

#include <zlib.h>
#include <zstd.h>

namespace lens::exporting {
namespace {

constexpr int gzip_window_bits = 15 + 16;  // the largest window; 16 asks for gzip's header and not zlib's
constexpr int memory_level = 8;

Bytef* input(std::string_view bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); }

}  // namespace

std::optional<std::string> gzipped(std::string_view bytes) {
  z_stream stream{};
  // The fastest level: on spans the others gain a tenth of the size for several times the time.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window_bits, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string compressed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int result = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  compressed.shrink_to_fit();  // it is kept while the request is under way
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return compressed;
}

std::optional<std::string> zstd_compressed(std::string_view bytes) {
  std::string compressed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(compressed.data(), compressed.size(), bytes.data(), bytes.size(), zstd_level);
  if (ZSTD_isError(size)) return std::nullopt;
  compressed.resize(size);
  compressed.shrink_to_fit();
  return compressed;
}

std::optional<std::string> gunzipped(std::string_view bytes, std::size_t most_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window_bits) != Z_OK) return std::nullopt;
  stream.next_in = input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string plain;
  int result = Z_OK;
  while (result == Z_OK && plain.size() <= most_bytes) {
    char room[16 << 10];
    stream.next_out = reinterpret_cast<Bytef*>(room);
    stream.avail_out = sizeof room;
    result = inflate(&stream, Z_NO_FLUSH);
    plain.append(room, sizeof room - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || plain.size() > most_bytes) return std::nullopt;
  return plain;
}

}  // namespace lens::exporting
