// SPDX-License-Identifier: Apache-2.0
// Which group controls which of Megatron's spans.
#pragma once

#include <span>
#include <string_view>

namespace lens::analyze {

struct GroupSpan {
  std::string_view group, span;
};

std::span<const GroupSpan> group_spans();

}  // namespace lens::analyze
