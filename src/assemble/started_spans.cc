// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/started_spans.h"

#include <utility>

namespace lens::assemble {

OpenSpan& StartedSpans::add(detail::Position position) {
  const bool is_youngest = size_ == 0 || at(size_ - 1).position < position;
  if (OpenSpan* known = is_youngest ? nullptr : find(position)) return *known;  // only a damaged file says so
  if (growth_bytes() > 0) chunks_.push_back(std::make_unique<Chunk>());
  std::size_t i = size_++;
  for (; i > 0 && at(i - 1).position > position; --i) at(i) = std::move(at(i - 1));
  at(i).position = position;
  at(i).is_over = false;
  return at(i);
}

std::size_t StartedSpans::first_from(detail::Position position) const noexcept {
  std::size_t first = 0, last = size_;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    if (at(middle).position < position)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

OpenSpan* StartedSpans::find(detail::Position position) noexcept {
  for (std::size_t i = first_from(position); i < size_ && at(i).position == position; ++i)
    if (!at(i).is_over) return &at(i);
  return nullptr;
}

void StartedSpans::erase(OpenSpan& span) noexcept {
  constexpr std::size_t few = 2 * chunk_size;
  span.forget_records();
  span.is_over = true;
  ++over_;
  for (; size_ > 0 && at(size_ - 1).is_over; --size_) --over_;
  if (over_ > few && over_ * 2 > size_) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (at(i).is_over) continue;
      if (kept != i) at(kept) = std::move(at(i));
      ++kept;
    }
    size_ = kept;
    over_ = 0;
  }
  drop_chunks();
}

// But for one, or a span that comes and goes would take and give back memory each time.
void StartedSpans::drop_chunks() noexcept {
  while (chunks_.size() > size_ / chunk_size + 2) chunks_.pop_back();
}

}  // namespace lens::assemble
