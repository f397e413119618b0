// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lens::analyze {
namespace {

constexpr std::size_t max_pieces = 4096;

std::uint64_t sum(const CategoryTimes& times) { return std::accumulate(times.begin(), times.end(), std::uint64_t{0}); }

}  // namespace

void Timeline::fill(std::uint64_t start_ns, std::uint64_t end_ns, Category category) {
  start_ns = std::max(start_ns, folded_end_ns_);
  if (start_ns >= end_ns) return;
  if (pieces_.empty() || start_ns >= pieces_.back().end_ns) {
    append({start_ns, end_ns, category});
  } else {
    insert({start_ns, end_ns, category});
  }
  if (pieces_.size() > max_pieces) fold(max_pieces / 2);
}

std::uint64_t Timeline::close(std::uint64_t start_ns, std::uint64_t end_ns, Category category) {
  crop(start_ns, end_ns);
  std::uint64_t before_ns = sum(times());
  if (folded_end_ns_ != 0) {
    folded_start_ns_ = std::min(folded_start_ns_, start_ns);
    std::uint64_t folded_ns = sum(folded_), span_ns = folded_end_ns_ - folded_start_ns_;
    folded_[index(category)] += span_ns - std::min(span_ns, folded_ns);
  }
  fill(start_ns, end_ns, category);
  return sum(times()) - before_ns;
}

void Timeline::absorb(const Timeline& closed) {
  if (closed.folded_end_ns_ > folded_end_ns_) {
    fold(pieces_.size());
    if (folded_end_ns_ == 0) folded_start_ns_ = closed.folded_start_ns_;
    folded_end_ns_ = closed.folded_end_ns_;
    for (std::size_t i = 0; i < category_count; ++i) folded_[i] += closed.folded_[i];
  }
  for (const Piece& piece : closed.pieces_) fill(piece.start_ns, piece.end_ns, piece.category);
}

void Timeline::recount(Category from, Category to) {
  folded_[index(to)] += std::exchange(folded_[index(from)], 0);
  for (Piece& piece : pieces_)
    if (piece.category == from) piece.category = to;
}

CategoryTimes Timeline::times() const {
  CategoryTimes times = folded_;
  for (const Piece& piece : pieces_) times[index(piece.category)] += piece.end_ns - piece.start_ns;
  return times;
}

void Timeline::clear() {
  pieces_.clear();
  folded_ = {};
  folded_start_ns_ = folded_end_ns_ = 0;
}

void Timeline::append(Piece piece) {
  if (!pieces_.empty() && pieces_.back().end_ns == piece.start_ns && pieces_.back().category == piece.category) {
    pieces_.back().end_ns = piece.end_ns;
  } else {
    pieces_.push_back(piece);
  }
}

void Timeline::insert(Piece piece) {
  auto first = std::ranges::upper_bound(pieces_, piece.start_ns, {}, &Piece::end_ns);
  scratch_.assign(first, pieces_.end());
  pieces_.erase(first, pieces_.end());
  std::uint64_t free_from_ns = piece.start_ns;
  for (const Piece& taken : scratch_) {
    std::uint64_t free_until_ns = std::min(taken.start_ns, piece.end_ns);
    if (free_from_ns < free_until_ns) append({free_from_ns, free_until_ns, piece.category});
    append(taken);
    free_from_ns = std::max(free_from_ns, taken.end_ns);
  }
  if (free_from_ns < piece.end_ns) append({free_from_ns, piece.end_ns, piece.category});
}

void Timeline::fold(std::size_t count) {
  if (count == 0) return;
  auto end = pieces_.begin() + static_cast<std::ptrdiff_t>(count);
  if (folded_end_ns_ == 0) folded_start_ns_ = pieces_.front().start_ns;
  folded_end_ns_ = std::prev(end)->end_ns;
  for (auto piece = pieces_.begin(); piece != end; ++piece) {
    folded_[index(piece->category)] += piece->end_ns - piece->start_ns;
  }
  pieces_.erase(pieces_.begin(), end);
}

void Timeline::crop(std::uint64_t start_ns, std::uint64_t end_ns) {
  for (Piece& piece : pieces_) {
    piece.start_ns = std::clamp(piece.start_ns, start_ns, end_ns);
    piece.end_ns = std::clamp(piece.end_ns, start_ns, end_ns);
  }
  std::erase_if(pieces_, [](const Piece& piece) { return piece.start_ns == piece.end_ns; });
}

}  // namespace lens::analyze
