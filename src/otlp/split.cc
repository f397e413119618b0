// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/split.h"

#include "src/otlp/wire.h"

namespace lens::otlp {
namespace {

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

}  // namespace lens::otlp
