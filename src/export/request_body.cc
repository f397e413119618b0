// SPDX-License-Identifier: Apache-2.0
#include "src/export/request_body.h"

#include "src/otlp/json.h"

namespace lens::exporting {
namespace {

// A gRPC frame: whether the message is compressed, its length in four bytes, big-endian; the message.
constexpr std::size_t frame_head_bytes = 5;

std::string frame_head(std::size_t size, bool compressed) {
  std::string head(1, compressed ? '\1' : '\0');
  for (int shift = 24; shift >= 0; shift -= 8) head += static_cast<char>(size >> shift);
  return head;
}

}  // namespace

RequestBody request_body(const TwoPieces& request, Signal signal, OtlpProtocol protocol, OtlpCompression compression) {
  RequestBody body{request};
  if (protocol == OtlpProtocol::http_json) {
    body.bytes = {};
    // JSON is about three times as long. What is not written to is no memory.
    body.bytes.head.reserve(4 * request.size());
    otlp::append_json(body.bytes.head, signal, request.joined());
  }
  if (compression != OtlpCompression::none) {
    if (auto smaller = compression == OtlpCompression::gzip ? gzipped(body.bytes.head, body.bytes.rest)
                                                            : zstd_compressed(body.bytes.joined()))
      body = {{std::move(*smaller), {}}, compression};
  }
  if (protocol == OtlpProtocol::grpc)
    body.bytes.head.insert(0, frame_head(body.bytes.size(), body.compression != OtlpCompression::none));
  return body;
}

Unpacked grpc_message_of(std::string_view body, std::size_t most_bytes, std::size_t most_kept_bytes) {
  if (body.size() < frame_head_bytes) return {};
  std::size_t size = 0;
  for (std::size_t i = 1; i < frame_head_bytes; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
  const bool compressed = body[0] != 0;
  body.remove_prefix(frame_head_bytes);
  if (body.size() < size) return {};  // whatever it says: what is not there is no large answer
  body = body.substr(0, size);
  if (compressed) return gunzipped(body, most_bytes, most_kept_bytes);
  return {Unpacked::State::whole, std::string(body)};
}

}  // namespace lens::exporting
