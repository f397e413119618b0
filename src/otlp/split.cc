// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/split.h"

#include <algorithm>

#include "src/otlp/envelope.h"
#include "src/otlp/wire.h"

namespace lens::otlp {
namespace {

/// What a length-delimited field with a tag of one byte holds.
std::string_view content(std::string_view field) {
  std::size_t at = 1;
  while (at < field.size() && (static_cast<unsigned char>(field[at]) & 0x80) != 0) ++at;
  return field.substr(std::min(at + 1, field.size()));
}

std::string_view take_field(std::string_view& message) {
  const std::string_view field = wire::first_field(message);
  message.remove_prefix(field.size());
  return field;
}

}  // namespace

std::optional<SplitRequest> split(std::string_view request) {
  std::string_view resource_spans = content(wire::first_field(request));
  const std::string_view resource = take_field(resource_spans);
  std::string_view spans = content(wire::first_field(resource_spans));
  const std::string_view scope = take_field(spans);

  std::size_t first_bytes = 0;
  SplitRequest halves{{}, {}, 0, 0};
  for (std::string_view rest = spans; !rest.empty();) {
    const std::size_t size = take_field(rest).size();
    if (size == 0) return std::nullopt;
    const bool goes_first =
        halves.first_spans == 0 || (halves.second_spans == 0 && first_bytes + size <= spans.size() / 2);
    ++(goes_first ? halves.first_spans : halves.second_spans);
    if (goes_first) first_bytes += size;
  }
  if (halves.second_spans == 0) return std::nullopt;
  const TraceEnvelope envelope{std::string(resource), std::string(scope)};
  halves.first = envelope.request(spans.substr(0, first_bytes));
  halves.second = envelope.request(spans.substr(first_bytes));
  return halves;
}

}  // namespace lens::otlp
