// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/decode.h"

#include <protozero/pbf_reader.hpp>

namespace lens::otlp {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

std::string_view view(protozero::data_view data) { return {data.data(), data.size()}; }

pbf_reader reader(std::string_view message) { return pbf_reader{message.data(), message.size()}; }

constexpr std::uint32_t field(protozero::pbf_tag_type tag, pbf_wire_type type) {
  return protozero::tag_and_type(tag, type);
}
constexpr std::uint32_t bytes(protozero::pbf_tag_type tag) { return field(tag, pbf_wire_type::length_delimited); }
constexpr std::uint32_t varint(protozero::pbf_tag_type tag) { return field(tag, pbf_wire_type::varint); }
constexpr std::uint32_t fixed64(protozero::pbf_tag_type tag) { return field(tag, pbf_wire_type::fixed64); }
constexpr std::uint32_t fixed32(protozero::pbf_tag_type tag) { return field(tag, pbf_wire_type::fixed32); }

AttributeValue decode_value(std::string_view message) {
  using Kind = AttributeValue::Kind;
  AttributeValue value;
  for (auto any = reader(message); any.next();) {
    switch (any.tag_and_type()) {
      case bytes(1): value = {.kind = Kind::string, .bytes = view(any.get_view())}; break;
      case varint(2): value = {.kind = Kind::boolean, .integer = any.get_bool(), .bytes = {}}; break;
      case varint(3): value = {.kind = Kind::integer, .integer = any.get_int64(), .bytes = {}}; break;
      case fixed64(4): value = {.kind = Kind::floating, .floating = any.get_double(), .bytes = {}}; break;
      case bytes(5): value = {.kind = Kind::array, .bytes = view(any.get_view())}; break;
      case bytes(6): value = {.kind = Kind::map, .bytes = view(any.get_view())}; break;
      case bytes(7): value = {.kind = Kind::bytes, .bytes = view(any.get_view())}; break;
      default: any.skip();
    }
  }
  return value;
}

Scope decode_scope(std::string_view message) {
  Scope scope;
  for (auto fields = reader(message); fields.next();) {
    switch (fields.tag_and_type()) {
      case bytes(1): scope.name = view(fields.get_view()); break;
      case bytes(2): scope.version = view(fields.get_view()); break;
      default: fields.skip();
    }
  }
  return scope;
}

void decode_status(std::string_view message, Span& span) {
  for (auto fields = reader(message); fields.next();) {
    switch (fields.tag_and_type()) {
      case bytes(2): span.status_message = view(fields.get_view()); break;
      case varint(3): span.status = static_cast<StatusCode>(fields.get_enum()); break;
      default: fields.skip();
    }
  }
}

// The ids tell a span from a message of another signal, whose bytes would otherwise pass for one.
void check_ids(const Span& span) {
  bool parent_is_valid = span.parent_span_id.empty() || span.parent_span_id.size() == 8;
  if (span.trace_id.size() != 16 || span.span_id.size() != 8 || !parent_is_valid) {
    throw DecodeError("a span's ids have the wrong length");
  }
}

}  // namespace

Attribute decode_attribute(std::string_view message) try {
  Attribute attribute;
  for (auto fields = reader(message); fields.next();) {
    switch (fields.tag_and_type()) {
      case bytes(1): attribute.key = view(fields.get_view()); break;
      case bytes(2): attribute.value = decode_value(view(fields.get_view())); break;
      default: fields.skip();
    }
  }
  return attribute;
} catch (const protozero::exception& error) {
  throw DecodeError(error.what());
}

Event decode_event(std::string_view message) try {
  Event event;
  for (auto fields = reader(message); fields.next();) {
    switch (fields.tag_and_type()) {
      case fixed64(1): event.time_ns = fields.get_fixed64(); break;
      case bytes(2): event.name = view(fields.get_view()); break;
      default: fields.skip();
    }
  }
  return event;
} catch (const protozero::exception& error) {
  throw DecodeError(error.what());
}

Link decode_link(std::string_view message) try {
  Link link;
  for (auto fields = reader(message); fields.next();) {
    switch (fields.tag_and_type()) {
      case bytes(1): link.trace_id = view(fields.get_view()); break;
      case bytes(2): link.span_id = view(fields.get_view()); break;
      default: fields.skip();
    }
  }
  return link;
} catch (const protozero::exception& error) {
  throw DecodeError(error.what());
}

std::optional<AttributeValue> find_attribute(Encoded attributes, std::string_view key) {
  for (std::string_view encoded : attributes) {
    if (Attribute attribute = decode_attribute(encoded); attribute.key == key) return attribute.value;
  }
  return std::nullopt;
}

void TraceDecoder::decode(std::string_view message, TraceVisitor& visitor) try {
  for (auto fields = reader(message); fields.next();) {
    if (fields.tag_and_type() == bytes(1)) {
      decode_resource_spans(view(fields.get_view()), visitor);
    } else {
      fields.skip();
    }
  }
} catch (const protozero::exception& error) {
  throw DecodeError(error.what());
}

// Two walks over the message, of which the first only skips: a writer may put the resource behind its spans.
void TraceDecoder::decode_resource_spans(std::string_view message, TraceVisitor& visitor) {
  attributes_.clear();
  for (auto fields = reader(message); fields.next(1, pbf_wire_type::length_delimited);) {
    for (auto resource = fields.get_message(); resource.next(1, pbf_wire_type::length_delimited);) {
      attributes_.push_back(view(resource.get_view()));
    }
  }
  visitor.on_resource(attributes_);
  for (auto fields = reader(message); fields.next(2, pbf_wire_type::length_delimited);) {
    decode_scope_spans(view(fields.get_view()), visitor);
  }
}

void TraceDecoder::decode_scope_spans(std::string_view message, TraceVisitor& visitor) {
  Scope scope;
  for (auto fields = reader(message); fields.next(1, pbf_wire_type::length_delimited);) {
    scope = decode_scope(view(fields.get_view()));
  }
  visitor.on_scope(scope);
  for (auto fields = reader(message); fields.next(2, pbf_wire_type::length_delimited);) {
    Span span;
    decode_span(view(fields.get_view()), span);
    check_ids(span);
    visitor.on_span(span);
  }
}

void TraceDecoder::decode_span(std::string_view message, Span& span) {
  attributes_.clear();
  events_.clear();
  links_.clear();
  for (auto fields = reader(message); fields.next();) {
    switch (fields.tag_and_type()) {
      case bytes(1): span.trace_id = view(fields.get_view()); break;
      case bytes(2): span.span_id = view(fields.get_view()); break;
      case bytes(3): span.trace_state = view(fields.get_view()); break;
      case bytes(4): span.parent_span_id = view(fields.get_view()); break;
      case bytes(5): span.name = view(fields.get_view()); break;
      case varint(6): span.kind = fields.get_enum(); break;
      case fixed64(7): span.start_ns = fields.get_fixed64(); break;
      case fixed64(8): span.end_ns = fields.get_fixed64(); break;
      case bytes(9): attributes_.push_back(view(fields.get_view())); break;
      case bytes(11): events_.push_back(view(fields.get_view())); break;
      case bytes(13): links_.push_back(view(fields.get_view())); break;
      case bytes(15): decode_status(view(fields.get_view()), span); break;
      case fixed32(16): span.flags = fields.get_fixed32(); break;
      default: fields.skip();
    }
  }
  span.attributes = attributes_;
  span.events = events_;
  span.links = links_;
}

}  // namespace lens::otlp
