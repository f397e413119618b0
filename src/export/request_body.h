// SPDX-License-Identifier: Apache-2.0
// An OTLP protobuf request as each protocol carries it, and the message of a gRPC answer.
#pragma once

#include <string>
#include <string_view>

#include "lens/config.h"
#include "src/export/compression.h"
#include "src/model/signal.h"

namespace lens::exporting {

/// An OTLP protobuf request, or a body: one piece behind the other, so that the large one is not copied.
struct TwoPieces {
  std::string head = {};
  std::string_view rest = {};  // borrowed

  std::size_t size() const noexcept { return head.size() + rest.size(); }
  std::string joined() const { return head + std::string(rest); }
};

struct RequestBody {
  TwoPieces bytes = {};
  OtlpCompression compression = OtlpCompression::none;  // none where there was no memory for what was asked for
};

/// JSON where the protocol says so, compressed, framed. Borrows from `request` what goes out as it is.
RequestBody request_body(const TwoPieces& request, Signal signal, OtlpProtocol protocol, OtlpCompression compression);

/// Of the first frame of a gRPC body, decompressed (gzip): as gunzipped() has it.
Unpacked grpc_message_of(std::string_view body, std::size_t most_bytes, std::size_t most_kept_bytes);

}  // namespace lens::exporting
