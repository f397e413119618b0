// SPDX-License-Identifier: Apache-2.0
#include "src/export/outcome_text.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/base/utf8.h"

namespace lens::exporting {
namespace {

constexpr std::size_t most_message_characters = 300;

}  // namespace

std::string one_line(std::string_view text) {
  std::string line = base::repaired_utf8(text);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return std::string(base::first_characters(base::trim(line), most_message_characters));
}

std::string with(std::string what, std::string_view detail) {
  const std::string line = one_line(detail);
  return line.empty() ? what : what + ": " + line;
}

bool is_plain(const Endpoint& endpoint) { return endpoint.url.starts_with("http://"); }

std::string hint_at_protocol(OtlpProtocol protocol) {
  if (protocol == OtlpProtocol::grpc)
    return "if it is a collector's HTTP port, set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or name its gRPC port "
           "(4317)";
  return "if it is a collector's gRPC port, set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or name its HTTP port (4318)";
}

std::string wrong_protocol(const Endpoint& endpoint, OtlpProtocol protocol) {
  const std::string name = protocol == OtlpProtocol::grpc ? "gRPC" : "OTLP/HTTP";
  return server_name(endpoint) + " does not seem to speak " + name + ": " + hint_at_protocol(protocol);
}

}  // namespace lens::exporting
