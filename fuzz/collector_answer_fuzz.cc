// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a collector, or a proxy before it, answers, by each protocol: an outcome, whose message is one line
// of a bounded length.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/base/utf8.h"
#include "src/export/outcome.h"
#include "src/export/request_body.h"

namespace {

using namespace lens;
using namespace lens::exporting;

constexpr std::size_t most_message_bytes = 4096;

/// Cuts the next text off, which a zero byte ends.
std::string take_text(std::string_view& bytes) {
  const std::string text(bytes.substr(0, bytes.find('\0')));
  bytes.remove_prefix(std::min(text.size() + 1, bytes.size()));
  return text;
}

Response response_of(std::string_view bytes) {
  Response response{.answered = true};
  response.http_major = 2;
  if (bytes.size() >= 3) {
    response.http_status =
        100 + (static_cast<unsigned char>(bytes[0]) << 8 | static_cast<unsigned char>(bytes[1])) % 500;
    const auto flags = static_cast<unsigned char>(bytes[2]);
    response.http_major = (flags & 1) != 0 ? 1 : 2;
    response.tunnel_status = (flags & 2) != 0 ? response.http_status : 0;
    response.unread = (flags & 4) != 0;
    bytes.remove_prefix(3);
  }
  for (std::string* field : {&response.content_type, &response.retry_after, &response.location, &response.grpc_status,
                             &response.grpc_message, &response.grpc_details, &response.proxy.url})
    *field = take_text(bytes);
  response.body = bytes;
  return response;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(grpc_message_of(bytes, std::size_t{1} << 20, std::size_t{64} << 10));
  const Response response = response_of(bytes);
  const Endpoint endpoint{.url = "http://collector:4317/path"};
  for (const OtlpProtocol protocol : {OtlpProtocol::grpc, OtlpProtocol::http_protobuf, OtlpProtocol::http_json}) {
    const Outcome outcome = outcome_of(response, endpoint, protocol);
    const bool is_one_line = outcome.message.find('\n') == std::string::npos;
    if (!is_one_line || outcome.message.size() > most_message_bytes || !base::is_utf8(outcome.message)) std::abort();
    if (outcome.retry_after && outcome.retry_after->count() < 0) std::abort();
  }
  return 0;
}
