// SPDX-License-Identifier: Apache-2.0
// What a span that stays open for long is told again and again, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lens/recorder.h"
#include "src/base/buffer.h"
#include "src/otlp/span_encoder.h"

namespace lens::assemble {

/// Tells a span that records about it found no room: `count` of them.
struct LostNote {
  LostNote(detail::RecordKind kind, std::uint64_t count) noexcept
      : item{0, detail::ItemType::lost, static_cast<std::uint8_t>(kind), 0}, further(count - 1) {}
  std::span<const std::byte> bytes() const noexcept { return std::as_bytes(std::span(this, 1)); }

  detail::RecordHeader record{0, 0, detail::RecordHeader::form_of(32, detail::RecordKind::lost)};
  detail::ItemHeader item;
  std::uint64_t further;
};
static_assert(sizeof(LostNote) == 32);

/// Whole records about a span, as fewer that say the same of it within the limits: of equal keys the last, the first
/// events and links, the status that holds, and how many were left out.
void compact(std::span<const std::byte> records, const otlp::Limits& limits, base::Buffer& out);

}  // namespace lens::assemble
