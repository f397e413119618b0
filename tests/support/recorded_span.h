// SPDX-License-Identifier: Apache-2.0
// Spans as a reader of OTLP finds them, read field by field from the specification's numbers and not by the code under
// test.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lens/resource.h"

namespace lens::tests {

using Attributes = std::map<std::string, AttributeValue>;

struct RecordedEvent {
  std::uint64_t time_ns = 0;
  std::string name;
  Attributes attributes;
  std::uint32_t dropped_attributes = 0;
};

struct RecordedLink {
  std::string trace_id, span_id;  // hexadecimal, as everywhere here
  std::string trace_state;
  std::uint32_t flags = 0;
  Attributes attributes;
  std::uint32_t dropped_attributes = 0;
};

struct RecordedSpan {
  std::string trace_id, span_id, parent_id;  // no parent: empty
  std::string trace_state;
  std::string name;
  int kind = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t flags = 0;
  int status = 0;
  std::string status_message;
  Attributes attributes;
  std::vector<RecordedEvent> events;
  std::vector<RecordedLink> links;
  std::uint32_t dropped_attributes = 0, dropped_events = 0, dropped_links = 0;

  /// The attribute, or the T that no test expects: throws when it is missing or of another type.
  template <class T>
  const T& at(const std::string& key) const {
    return std::get<T>(attributes.at(key));
  }
  bool has(const std::string& key) const { return attributes.contains(key); }
  bool truncated() const { return has("nemo.span.truncated"); }
};

struct RecordedRequest {
  Attributes resource;
  std::string scope_name, scope_version;
  std::vector<RecordedSpan> spans;
};

/// An ExportTraceServiceRequest. Throws when a field of the wrong type or a key that stands twice is met.
RecordedRequest read_request(std::string_view message);

}  // namespace lens::tests
