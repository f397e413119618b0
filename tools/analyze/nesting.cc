// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/nesting.h"

namespace lens::analyze {
namespace {

constexpr std::size_t max_young = 16384;
constexpr std::size_t max_spare = 64;

// What a pass over the microbatches does besides them is its schedule; where they are not recorded, it is all there is.
Category own_category(const EndedSpan& span, const CategoryTimes& children) {
  bool is_split = children[index(Category::forward)] != 0 || children[index(Category::backward)] != 0;
  return span.category == Category::forward_backward && is_split ? Category::rest : span.category;
}

}  // namespace

std::uint64_t Nesting::end_span(const EndedSpan& span, CategoryTimes* split) {
  if (split != nullptr && has_foreign_) {
    children_of(span.id).absorb(foreign_);
    foreign_.clear();
    has_foreign_ = false;
  }
  if (Open::node_type node = take(span.id)) return end_parent(span, std::move(node), split);
  std::uint64_t duration_ns = span.end_ns - span.start_ns;
  if (split != nullptr) {
    *split = {};
    (*split)[index(span.category)] = duration_ns;
  }
  if (Timeline* siblings = siblings_of(span)) siblings->fill(span.start_ns, span.end_ns, span.category);
  return duration_ns;
}

std::uint64_t Nesting::end_parent(const EndedSpan& span, Open::node_type node, CategoryTimes* split) {
  Timeline& timeline = node.mapped();
  Category category = own_category(span, timeline.times());
  std::uint64_t self_ns = timeline.close(span.start_ns, span.end_ns, category);
  // What the backward pass computes again is its own.
  if (category == Category::backward) timeline.recount(Category::forward, Category::backward);
  if (split != nullptr) *split = timeline.times();
  if (Timeline* siblings = siblings_of(span)) {
    if (split != nullptr) {
      siblings->fill(span.start_ns, span.end_ns, category);
    } else {
      siblings->absorb(timeline);
    }
  }
  if (spare_.size() < max_spare) {
    timeline.clear();
    spare_.push_back(std::move(node));
  }
  return self_ns;
}

Timeline* Nesting::siblings_of(const EndedSpan& span) {
  if (span.parent_id == 0) return nullptr;
  if (!span.has_remote_parent) return &children_of(span.parent_id);
  has_foreign_ = true;
  return &foreign_;
}

Timeline& Nesting::children_of(std::uint64_t parent_id) {
  if (auto found = young_.find(parent_id); found != young_.end()) return found->second;
  if (young_.size() >= max_young) {
    old_ = std::move(young_);
    young_.clear();
  }
  if (!old_.empty()) {
    if (auto node = old_.extract(parent_id)) return young_.insert(std::move(node)).position->second;
  }
  if (spare_.empty()) return young_[parent_id];
  Open::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = parent_id;
  return young_.insert(std::move(node)).position->second;
}

Nesting::Open::node_type Nesting::take(std::uint64_t id) {
  if (auto node = young_.extract(id)) return node;
  return old_.empty() ? Open::node_type{} : old_.extract(id);
}

}  // namespace lens::analyze
