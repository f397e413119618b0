// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace message, and as a line of JSON: a DecodeError at most, and what decodes survives a change to
// JSON and back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/otlp/decode.h"
#include "src/otlp/json.h"

namespace {

using namespace lens::otlp;

class Reader : public TraceVisitor {
 public:
  void on_resource(Encoded attributes) override { read(attributes); }
  void on_span(const Span& span) override {
    ++spans;
    read(span.attributes);
    for (std::string_view event : span.events) decode_event(event);
    for (std::string_view link : span.links) decode_link(link);
  }
  int spans = 0;

 private:
  void read(Encoded attributes) {
    for (std::string_view attribute : attributes) decode_attribute(attribute);
  }
};

int count_spans(std::string_view message) {
  Reader reader;
  TraceDecoder().decode(message, reader);
  return reader.spans;
}

void decode_and_convert(std::string_view message) try {
  int spans = count_spans(message);
  std::string json;
  append_json(json, lens::Signal::traces, message);
  if (count_spans(traces_from_json(json)) != spans) std::abort();
} catch (const DecodeError&) {
}

void read_json(std::string_view line) try {
  std::string json;
  append_json(json, lens::Signal::traces, traces_from_json(line));
} catch (const DecodeError&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  decode_and_convert(bytes);
  read_json(bytes);
  return 0;
}
