// SPDX-License-Identifier: Apache-2.0
// The open spans of one ring that are no scopes, in the order in which they began.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "src/assemble/open_span.h"

namespace lens::assemble {

class StartedSpans {
 public:
  /// A place for the span at `position`, which is later than all others but where a thread's scopes outlive it.
  OpenSpan& add(detail::Position position);
  /// Null when there is none.
  OpenSpan* find(detail::Position position) noexcept;
  void erase(OpenSpan& span) noexcept;

  /// Visits from the youngest to the oldest, as long as `visit` returns true.
  template <class Visit>
  void visit_youngest_first(Visit&& visit) {
    for (std::size_t i = size_; i-- > 0;)
      if (!at(i).is_over && !visit(at(i))) return;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < size_; ++i)
      if (!at(i).is_over) visit(at(i));
  }

  std::size_t memory_bytes() const noexcept { return chunks_.size() * sizeof(Chunk); }
  /// By how much the next `add` makes it grow.
  std::size_t growth_bytes() const noexcept { return size_ < chunks_.size() * chunk_size ? 0 : sizeof(Chunk); }

 private:
  static constexpr std::size_t chunk_size = 32;
  using Chunk = std::array<OpenSpan, chunk_size>;

  OpenSpan& at(std::size_t i) const noexcept { return (*chunks_[i / chunk_size])[i % chunk_size]; }
  std::size_t first_from(detail::Position position) const noexcept;
  void drop_chunks() noexcept;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;  // with those that are over
  std::size_t over_ = 0;
};

}  // namespace lens::assemble
