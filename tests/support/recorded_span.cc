// SPDX-License-Identifier: Apache-2.0
#include "tests/support/recorded_span.h"

#include <protozero/pbf_reader.hpp>
#include <stdexcept>

namespace lens::tests {
namespace {

using protozero::pbf_reader;

std::string hex_of(protozero::data_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes.data()[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

template <class T>
std::vector<T> all_as(const std::vector<AttributeValue>& values) {
  std::vector<T> typed;
  for (const AttributeValue& value : values) typed.push_back(std::get<T>(value));
  return typed;
}

AttributeValue read_value(pbf_reader any);

AttributeValue read_array(pbf_reader array) {
  std::vector<AttributeValue> values;
  while (array.next(1)) values.push_back(read_value(array.get_message()));
  if (values.empty()) return std::vector<std::int64_t>{};
  switch (values[0].index()) {
    case 0: return all_as<bool>(values);
    case 1: return all_as<std::int64_t>(values);
    case 2: return all_as<double>(values);
    default: return all_as<std::string>(values);
  }
}

AttributeValue read_value(pbf_reader any) {
  AttributeValue value;
  while (any.next()) {
    switch (any.tag()) {
      case 1: value = any.get_string(); break;
      case 2: value = any.get_bool(); break;
      case 3: value = any.get_int64(); break;
      case 4: value = any.get_double(); break;
      case 5: value = read_array(any.get_message()); break;
      default: throw std::runtime_error("an attribute of a type that the library does not write");
    }
  }
  return value;
}

void read_attribute(pbf_reader entry, Attributes& attributes) {
  std::string key;
  AttributeValue value;
  while (entry.next()) {
    if (entry.tag() == 1)
      key = entry.get_string();
    else
      value = read_value(entry.get_message());
  }
  if (!attributes.emplace(key, value).second) throw std::runtime_error("the attribute " + key + " stands twice");
}

RecordedEvent read_event(pbf_reader message) {
  RecordedEvent event;
  while (message.next()) {
    switch (message.tag()) {
      case 1: event.time_ns = message.get_fixed64(); break;
      case 2: event.name = message.get_string(); break;
      case 3: read_attribute(message.get_message(), event.attributes); break;
      case 4: event.dropped_attributes = message.get_uint32(); break;
      default: throw std::runtime_error("an unknown field of an event");
    }
  }
  return event;
}

RecordedLink read_link(pbf_reader message) {
  RecordedLink link;
  while (message.next()) {
    switch (message.tag()) {
      case 1: link.trace_id = hex_of(message.get_view()); break;
      case 2: link.span_id = hex_of(message.get_view()); break;
      case 3: link.trace_state = message.get_string(); break;
      case 4: read_attribute(message.get_message(), link.attributes); break;
      case 5: link.dropped_attributes = message.get_uint32(); break;
      case 6: link.flags = message.get_fixed32(); break;
      default: throw std::runtime_error("an unknown field of a link");
    }
  }
  return link;
}

void read_status(pbf_reader message, RecordedSpan& span) {
  while (message.next()) {
    if (message.tag() == 2)
      span.status_message = message.get_string();
    else
      span.status = message.get_enum();
  }
}

RecordedSpan read_span(pbf_reader message) {
  RecordedSpan span;
  while (message.next()) {
    switch (message.tag()) {
      case 1: span.trace_id = hex_of(message.get_view()); break;
      case 2: span.span_id = hex_of(message.get_view()); break;
      case 3: span.trace_state = message.get_string(); break;
      case 4: span.parent_id = hex_of(message.get_view()); break;
      case 5: span.name = message.get_string(); break;
      case 6: span.kind = message.get_enum(); break;
      case 7: span.start_ns = message.get_fixed64(); break;
      case 8: span.end_ns = message.get_fixed64(); break;
      case 9: read_attribute(message.get_message(), span.attributes); break;
      case 10: span.dropped_attributes = message.get_uint32(); break;
      case 11: span.events.push_back(read_event(message.get_message())); break;
      case 12: span.dropped_events = message.get_uint32(); break;
      case 13: span.links.push_back(read_link(message.get_message())); break;
      case 14: span.dropped_links = message.get_uint32(); break;
      case 15: read_status(message.get_message(), span); break;
      case 16: span.flags = message.get_fixed32(); break;
      default: throw std::runtime_error("an unknown field of a span");
    }
  }
  return span;
}

void read_scope_spans(pbf_reader message, RecordedRequest& request) {
  while (message.next()) {
    if (message.tag() == 2) {
      request.spans.push_back(read_span(message.get_message()));
      continue;
    }
    pbf_reader scope = message.get_message();
    while (scope.next()) {
      std::string& text = scope.tag() == 1 ? request.scope_name : request.scope_version;  // before the reader moves on
      text = scope.get_string();
    }
  }
}

}  // namespace

RecordedRequest read_request(std::string_view message) {
  RecordedRequest request;
  pbf_reader requests(message.data(), message.size());
  while (requests.next(1)) {
    pbf_reader resource_spans = requests.get_message();
    while (resource_spans.next()) {
      if (resource_spans.tag() == 2) {
        read_scope_spans(resource_spans.get_message(), request);
        continue;
      }
      pbf_reader resource = resource_spans.get_message();
      while (resource.next(1)) read_attribute(resource.get_message(), request.resource);
    }
  }
  return request;
}

}  // namespace lens::tests
