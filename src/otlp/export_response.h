// SPDX-License-Identifier: Apache-2.0
// What a collector answers to an export: partial success, and Google's Status where it refuses. In a refusal, whatever
// is malformed reads as absent: an answer that cannot be read says no more than none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lens::otlp {

struct PartialSuccess {
  std::int64_t rejected = 0;
  std::string message = {};
};

struct ResponseStatus {
  std::string message = {};
  std::optional<std::chrono::milliseconds> retry_delay = {};  // of its RetryInfo
};

/// Of an ExportTraceServiceResponse in protobuf or JSON, whichever it is; those of metrics and logs are alike. Nothing
/// where it is neither.
std::optional<PartialSuccess> partial_success(std::string_view response);

/// Of a google.rpc.Status.
ResponseStatus response_status(std::string_view status);
/// Of the `message` of its JSON form.
std::string json_message(std::string_view status);

}  // namespace lens::otlp
