// SPDX-License-Identifier: Apache-2.0
// The OTLP messages of all signals as a table: which field number has which JSON name and type. Both directions
// of the JSON form walk this table, so a message is described once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/model/signal.h"

namespace lens::otlp {

enum class JsonType : std::uint8_t {
  text,
  hex,     // bytes of an id
  base64,  // any other bytes
  boolean,
  number,    // varint that JSON writes as a number: enumerations and 32-bit counts
  int64,     // varint that JSON writes as a string
  fixed64,   // written as a string: times and counts
  sfixed64,  // the same with a sign
  flags,     // fixed32, written as a number
  floating,
  message,
};

struct JsonMessage;

struct JsonField {
  std::uint32_t number;
  std::string_view name;
  JsonType type;
  bool repeated = false;  // numbers packed into one field, as proto3 has them, or not
  const JsonMessage* message = nullptr;
};

struct JsonMessage {
  std::span<const JsonField> fields;  // in the order of their numbers

  const JsonField* find(std::uint32_t number) const noexcept;
  const JsonField* find(std::string_view name) const noexcept;
};

/// TracesData, and so ExportTraceServiceRequest.
extern const JsonMessage traces_data_json;
/// MetricsData, and so ExportMetricsServiceRequest.
extern const JsonMessage metrics_data_json;
/// LogsData, and so ExportLogsServiceRequest.
extern const JsonMessage logs_data_json;
const JsonMessage& json_schema_of(Signal signal) noexcept;

/// Values hold values: deeper than this is taken for an attack on the stack.
inline constexpr int max_json_depth = 100;

}  // namespace lens::otlp
