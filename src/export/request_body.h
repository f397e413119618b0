// SPDX-License-Identifier: Apache-2.0
// An OTLP protobuf request as each protocol carries it, and the message of a gRPC answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lens/config.h"

namespace lens::exporting {

struct RequestBody {
  std::string bytes;
  bool gzip;  // false where it was asked for but there was no memory to compress
};

/// JSON where the protocol says so, compressed, framed.
RequestBody request_body(std::string_view request, OtlpProtocol protocol, bool gzip);

/// Of the first frame of a gRPC body, decompressed (gzip). Nothing when it is not whole or exceeds `most_bytes`.
std::optional<std::string> grpc_message_of(std::string_view body, std::size_t most_bytes);

}  // namespace lens::exporting
