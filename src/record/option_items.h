// SPDX-License-Identifier: Apache-2.0
// How the options of a span lie behind its record: the parts that only the slow paths write.
#pragma once

#include <chrono>
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

inline std::uint64_t unix_ns(SystemTime time) noexcept {
  return std::uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

/// Those of the options that are not the default.
struct OptionItems {
  const SpanOptions& options;

  bool has_parent() const noexcept { return options.root || options.parent.valid(); }
  std::uint64_t bytes() const noexcept {
    return (options.kind != SpanKind::internal ? ScalarItem::bytes() : 0) + (options.start ? ScalarItem::bytes() : 0) +
           (has_parent() ? ContextItem::bytes() : 0) + options.links.size() * ContextItem::bytes();
  }
  void write(std::byte* at) const noexcept {
    const auto put = [&at](const auto& item) {
      item.write(at);
      at += item.bytes();
    };
    if (options.kind != SpanKind::internal)
      put(ScalarItem{{0, ItemType::kind, 0, 0}, static_cast<std::uint64_t>(options.kind)});
    if (options.start) put(ScalarItem{{0, ItemType::time, 0, 0}, unix_ns(*options.start)});
    if (has_parent()) put(context_item(ItemType::parent, options.root ? SpanContext{} : options.parent));
    for (const SpanContext& link : options.links) put(context_item(ItemType::link, link));
  }
};

}  // namespace lens::record
