// SPDX-License-Identifier: Apache-2.0
// Which category each instant of a stretch of time belongs to. Spans are filled in as they end, and an instant belongs
// to the first that covers it: an inner span ends before the outer one, so it keeps its time, and the parts add up to
// the whole even where siblings overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/analyze/category.h"

namespace lens::analyze {

class Timeline {
 public:
  /// Gives what is still free in [start, end) to `category`. Memory is bounded: of more than 4096 pieces the oldest
  /// are added up and keep no place of their own, so that what lies between them can only be had by `close`.
  void fill(std::uint64_t start_ns, std::uint64_t end_ns, Category category);

  /// Cuts off what lies outside [start, end), gives all that is free within to `category`, and tells how much it was.
  std::uint64_t close(std::uint64_t start_ns, std::uint64_t end_ns, Category category);

  /// Fills in what `closed` holds.
  void absorb(const Timeline& closed);

  /// Whatever was filled with one category counts as another.
  void recount(Category from, Category to);

  CategoryTimes times() const;
  void clear();

 private:
  struct Piece {
    std::uint64_t start_ns, end_ns;
    Category category;
  };

  void append(Piece piece);
  void insert(Piece piece);
  void fold(std::size_t count);
  void crop(std::uint64_t start_ns, std::uint64_t end_ns);

  std::vector<Piece> pieces_, scratch_;  // sorted, disjoint
  CategoryTimes folded_{};               // what was added up of [folded_start_ns_, folded_end_ns_)
  std::uint64_t folded_start_ns_ = 0, folded_end_ns_ = 0;
};

}  // namespace lens::analyze
