// SPDX-License-Identifier: Apache-2.0
// Reads OTLP trace messages span by span, without copying: TracesData and ExportTraceServiceRequest, which are the
// same bytes. Include this to read what any OpenTelemetry exporter wrote, in whatever order it wrote the fields.
//
// Threads:   a decoder belongs to one thread at a time.
// Ownership: every view points into the message; it lives as long as the message and, for the lists of a span,
//            until the next span.
// Errors:    DecodeError for bytes that are no trace message; what was visited before it stays visited.
// Cost:      no allocation per span once the decoder's lists have grown; attributes, events and links stay encoded
//            until they are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace lens::otlp {

class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct AttributeValue {
  enum class Kind : std::uint8_t { empty, string, boolean, integer, floating, array, map, bytes };
  Kind kind = Kind::empty;
  std::int64_t integer = 0;  // a boolean too: 0 or 1
  double floating = 0;
  std::string_view bytes;  // text, raw bytes, or the message of an array or a map
};

struct Attribute {
  std::string_view key;
  AttributeValue value;
};

struct Event {
  std::uint64_t time_ns = 0;
  std::string_view name;
};

struct Link {
  std::string_view trace_id, span_id;
};

/// Messages in their order, each still encoded.
using Encoded = std::span<const std::string_view>;

Attribute decode_attribute(std::string_view message);
Event decode_event(std::string_view message);
Link decode_link(std::string_view message);

/// The value of the first attribute with this key.
std::optional<AttributeValue> find_attribute(Encoded attributes, std::string_view key);

enum class StatusCode : std::uint8_t { unset = 0, ok = 1, error = 2 };

struct Span {
  std::string_view trace_id;        // 16 bytes
  std::string_view span_id;         // 8 bytes
  std::string_view parent_span_id;  // 8 bytes; empty for a root
  std::string_view trace_state;
  std::string_view name;
  std::string_view status_message;
  std::uint64_t start_ns = 0, end_ns = 0;  // Unix time
  std::uint32_t flags = 0;
  std::int32_t kind = 0;
  StatusCode status = StatusCode::unset;
  Encoded attributes, events, links;
};

struct Scope {
  std::string_view name, version;
};

/// Called in the order of the message, each resource and scope before its spans. A message without a resource or a
/// scope still makes the call, with an empty one.
class TraceVisitor {
 public:
  virtual ~TraceVisitor() = default;
  virtual void on_resource(Encoded attributes) = 0;
  virtual void on_scope(const Scope&) {}
  virtual void on_span(const Span&) = 0;
};

class TraceDecoder {
 public:
  void decode(std::string_view message, TraceVisitor& visitor);

 private:
  void decode_resource_spans(std::string_view message, TraceVisitor& visitor);
  void decode_scope_spans(std::string_view message, TraceVisitor& visitor);
  void decode_span(std::string_view message, Span& span);

  std::vector<std::string_view> attributes_, events_, links_;
};

}  // namespace lens::otlp
