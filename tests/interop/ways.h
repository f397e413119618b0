// SPDX-License-Identifier: Apache-2.0
// The ways by which spans travel to a receiver.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "lens/config.h"

namespace lens::tests {

struct Way {
  OtlpProtocol protocol;
  OtlpCompression compression;
};

inline std::vector<Way> all_ways() {
  using enum OtlpProtocol;
  using enum OtlpCompression;
  return {{grpc, none},          {grpc, gzip},      {http_protobuf, none}, {http_protobuf, gzip},
          {http_protobuf, zstd}, {http_json, none}, {http_json, gzip},     {http_json, zstd}};
}

inline std::string name_of(const Way& way) {
  static const std::string protocols[] = {"grpc", "http_protobuf", "http_json"},
                           compressions[] = {"", "_gzip", "_zstd"};
  return protocols[static_cast<int>(way.protocol)] + compressions[static_cast<int>(way.compression)];
}

/// For the messages of tests that fail.
inline std::ostream& operator<<(std::ostream& out, const Way& way) { return out << name_of(way); }

}  // namespace lens::tests
