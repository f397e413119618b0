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

std::optional<FirstHalf> first_half(std::string_view elements) {
  FirstHalf first{0, 0};
  bool all = true;
  for (std::string_view rest = elements; !rest.empty();) {
    const std::size_t size = take_field(rest).size();
    if (size == 0) return std::nullopt;
    all = first.spans == 0 || first.bytes + size <= elements.size() / 2;
    if (!all) break;
    first = {first.bytes + size, first.spans + 1};
  }
  if (all) return std::nullopt;
  return first;
}

std::optional<SplitRequest> split(std::string_view request, std::uint64_t count) {
  std::string_view resource_spans = content(wire::first_field(request));
  const std::string_view resource = take_field(resource_spans);
  std::string_view spans = content(wire::first_field(resource_spans));
  const std::string_view scope = take_field(spans);
  const auto first = first_half(spans);
  if (!first || first->spans >= count) return std::nullopt;
  const Envelope envelope{std::string(resource), std::string(scope)};
  return SplitRequest{envelope.request(spans.substr(0, first->bytes)), envelope.request(spans.substr(first->bytes)),
                      first->spans, count - first->spans};
}

}  // namespace lens::otlp
