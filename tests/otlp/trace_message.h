// SPDX-License-Identifier: Apache-2.0
// Trace messages made field by field, in any order of fields, for what reads them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <protozero/pbf_writer.hpp>

namespace lens::tests {

using protozero::pbf_writer;

/// A message of fields, each made by one of the functions below; concatenation is how protobuf joins them.
inline std::string message(std::initializer_list<std::string> fields) {
  std::string bytes;
  for (const std::string& field : fields) bytes += field;
  return bytes;
}

inline std::string bytes_field(std::uint32_t number, std::string_view value) {
  std::string bytes;
  pbf_writer(bytes).add_bytes(number, value.data(), value.size());
  return bytes;
}

inline std::string varint_field(std::uint32_t number, std::int64_t value) {
  std::string bytes;
  pbf_writer(bytes).add_int64(number, value);
  return bytes;
}

inline std::string fixed64_field(std::uint32_t number, std::uint64_t value) {
  std::string bytes;
  pbf_writer(bytes).add_fixed64(number, value);
  return bytes;
}

inline std::string fixed32_field(std::uint32_t number, std::uint32_t value) {
  std::string bytes;
  pbf_writer(bytes).add_fixed32(number, value);
  return bytes;
}

inline std::string double_field(std::uint32_t number, double value) {
  std::string bytes;
  pbf_writer(bytes).add_double(number, value);
  return bytes;
}

inline std::string text_attribute(std::string_view key, std::string_view value) {
  return message({bytes_field(1, key), bytes_field(2, bytes_field(1, value))});
}

inline std::string integer_attribute(std::string_view key, std::int64_t value) {
  return message({bytes_field(1, key), bytes_field(2, varint_field(3, value))});
}

inline const std::string trace_id = "0123456789abcdef", span_id = "ABCDEFGH", parent_id = "abcdefgh";

/// A whole request of one span, whose fields beyond the ids, the name and the times are given.
inline std::string request_of_span(std::string_view more_fields, std::string_view resource = {}) {
  std::string span = message({bytes_field(1, trace_id), bytes_field(2, span_id), bytes_field(5, "step"),
                              fixed64_field(7, 1000), fixed64_field(8, 3000)});
  span += more_fields;
  return bytes_field(1, message({bytes_field(1, resource), bytes_field(2, bytes_field(2, span))}));
}

}  // namespace lens::tests
