// SPDX-License-Identifier: Apache-2.0
// What the time of a span is spent on, told by the span's name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lens::analyze {

enum class Category : std::uint8_t {
  forward,
  backward,
  forward_backward,  // both, where the microbatches are not recorded
  communication,
  optimizer,
  data,
  rest,
};

inline constexpr std::size_t category_count = 7;
using CategoryTimes = std::array<std::uint64_t, category_count>;  // nanoseconds

constexpr std::size_t index(Category category) { return static_cast<std::size_t>(category); }

std::string_view to_string(Category category);

/// Megatron's names by a table; of other names the last word decides.
Category category_of(std::string_view span_name);

/// How well a name fits what people call a training step: lower is better, 0 is the best, nothing is no step.
inline constexpr int no_step = -1;
int step_preference(std::string_view span_name);

}  // namespace lens::analyze
