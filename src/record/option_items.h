// SPDX-License-Identifier: Apache-2.0
// How the options of a span lie behind its record: the parts that only the slow paths write.
#pragma once

#include <algorithm>
#include <cstring>

#include "lens/span.h"

namespace lens::record {

using namespace detail;

/// A context: the ids, with the flags in the header.
struct ContextItem {
  ItemHeader header;
  SpanContext context;

  static constexpr std::uint64_t bytes() noexcept { return sizeof(ItemHeader) + 24; }
  void write(std::byte* at) const noexcept {
    std::memcpy(at, &header, sizeof header);
    std::memcpy(at + 8, context.trace_id.bytes.data(), 16);
    std::memcpy(at + 24, context.span_id.bytes.data(), 8);
  }
};

inline ContextItem context_item(ItemType type, const SpanContext& context) noexcept {
  return {{0, type, context.flags, 0}, context};
}

/// Says of a span, in its own record, how many of its parts are not there.
inline ScalarItem lost_item(RecordKind kind, std::size_t count) noexcept {
  return {{0, ItemType::lost, static_cast<std::uint8_t>(kind), 0}, count - 1};
}

/// Those of the options that are not the default.
class OptionItems {
 public:
  /// Of the links the first `most_links`; the others are counted.
  OptionItems(const SpanOptions& options, std::size_t most_links) noexcept
      : options_(options),
        links_(std::min<std::size_t>(most_links, valid_links(options))),
        lost_links_(valid_links(options) - links_) {}

  std::uint64_t bytes() const noexcept {
    return (options_.kind != SpanKind::internal ? ScalarItem::bytes() : 0) +
           (options_.start ? ScalarItem::bytes() : 0) + (has_parent() ? ContextItem::bytes() : 0) +
           links_ * ContextItem::bytes() + (lost_links_ > 0 ? ScalarItem::bytes() : 0);
  }
  void write(std::byte* at) const noexcept {
    const auto put = [&at](const auto& item) {
      item.write(at);
      at += item.bytes();
    };
    if (options_.kind != SpanKind::internal)
      put(ScalarItem{{0, ItemType::kind, 0, 0}, static_cast<std::uint64_t>(options_.kind)});
    if (options_.start) put(ScalarItem{{0, ItemType::time, 0, 0}, unix_ns(*options_.start)});
    if (has_parent()) put(context_item(ItemType::parent, options_.root ? SpanContext{} : options_.parent));
    std::size_t left = links_;
    for (auto link = options_.links.begin(); left > 0; ++link) {
      if (!*link) continue;
      put(context_item(ItemType::link, *link));
      --left;
    }
    if (lost_links_ > 0) put(lost_item(RecordKind::links, lost_links_));
  }

 private:
  static std::size_t valid_links(const SpanOptions& options) noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(options.links, &SpanContext::valid));
  }
  bool has_parent() const noexcept { return options_.root || options_.parent.valid(); }

  const SpanOptions& options_;
  std::size_t links_, lost_links_;
};

}  // namespace lens::record
