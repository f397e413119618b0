// SPDX-License-Identifier: Apache-2.0
// How a gRPC server asks for time.
#pragma once

#include <string>

#include "tests/otlp/trace_message.h"

namespace lens::tests {

/// A google.rpc.Status that holds a RetryInfo.
inline std::string status_with_retry_info(int seconds, int nanos) {
  const std::string delay = message({varint_field(1, seconds), varint_field(2, nanos)});
  const std::string info =
      message({bytes_field(1, "type.googleapis.com/google.rpc.RetryInfo"), bytes_field(2, bytes_field(1, delay))});
  return message({varint_field(1, 8), bytes_field(2, "slow down"), bytes_field(3, info)});
}

}  // namespace lens::tests
