// SPDX-License-Identifier: Apache-2.0
// Spans that can be told apart, as the pipeline hands them to an exporter, and what a collector finds in a request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/otlp/decode.h"
#include "src/otlp/envelope.h"
#include "tests/export/http_peer.h"
#include "tests/otlp/trace_message.h"

namespace lens::tests {

inline otlp::Envelope envelope_of(const std::string& service) {
  return otlp::Envelope({{"service.name", service}}, "lens", "1.2.3");
}

/// Spans named {prefix}{from} and up, `count` of them, each with a text of `padding_bytes`.
inline std::string spans_of(const std::string& prefix, int from, int count, std::size_t padding_bytes = 0) {
  std::string spans;
  for (int i = from; i < from + count; ++i) {
    std::string span =
        message({bytes_field(1, trace_id), bytes_field(2, span_id), bytes_field(5, prefix + std::to_string(i)),
                 fixed64_field(7, 1000), fixed64_field(8, 3000)});
    if (padding_bytes > 0) span += bytes_field(9, text_attribute("padding", std::string(padding_bytes, 'x')));
    spans += bytes_field(2, span);
  }
  return spans;
}

/// "service/span" for each span, in their order.
inline std::vector<std::string> spans_in(std::string_view request) {
  struct Names : otlp::TraceVisitor {
    std::string service;
    std::vector<std::string> names;
    void on_resource(otlp::Encoded attributes) override {
      const auto value = otlp::find_attribute(attributes, "service.name");
      service = value ? std::string(value->bytes) : "?";
    }
    void on_span(const otlp::Span& span) override { names.push_back(service + '/' + std::string(span.name)); }
  };
  Names names;
  otlp::TraceDecoder().decode(request, names);
  return names.names;
}

/// "service/span" for all spans of all requests, in their order.
inline std::vector<std::string> spans_at(const HttpPeer& peer) {
  std::vector<std::string> names;
  for (const HttpRequest& request : peer.requests())
    for (std::string& name : spans_in(request.body)) names.push_back(std::move(name));
  return names;
}

inline std::vector<std::string> names_of(const std::string& service, const std::string& prefix, int from, int count) {
  std::vector<std::string> names;
  for (int i = from; i < from + count; ++i) names.push_back(service + '/' + prefix + std::to_string(i));
  return names;
}

}  // namespace lens::tests
