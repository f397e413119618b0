// SPDX-License-Identifier: Apache-2.0
// A span whose end has not come yet, in as few bytes as it can do with: there may be tens of thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lens/recorder.h"
#include "src/model/identity.h"
#include "src/otlp/span_encoder.h"

namespace lens::assemble {

struct OpenSpanFacts {
  detail::Position position = 0;
  model::TraceWords trace{};
  std::uint64_t span = 0;  // id; of an activation: the id of the span that it makes current
  std::uint64_t parent = 0;
  std::int64_t start_monotonic_ns = 0;
  std::int64_t start_unix_ns = 0;
  std::uint32_t name = 0;
  std::uint8_t flags = 0;
  bool parent_is_remote : 1 = false;
  bool is_activation : 1 = false;  // no span of its own
  bool is_started : 1 = false;     // no scope
  bool is_over : 1 = false;        // its place is free
  otlp::LostParts lost{};
};

class OpenSpan : public OpenSpanFacts {
 public:
  OpenSpan() = default;
  OpenSpan(OpenSpan&& other) noexcept { take(other); }
  OpenSpan& operator=(OpenSpan&& other) noexcept {
    if (this == &other) return *this;
    forget_records();
    take(other);
    return *this;
  }
  ~OpenSpan() { forget_records(); }

  /// Behind the begin record.
  std::span<const std::byte> items() const noexcept { return {bytes_, items_bytes_}; }
  /// Whole records that came after the begin.
  std::span<const std::byte> later() const noexcept { return {bytes_ + items_bytes_, later_bytes_}; }

  /// Items as they lie in the ring, until `append` or `keep`. Only while the span has no records of its own.
  void borrow(std::span<const std::byte> items) noexcept {
    bytes_ = const_cast<std::byte*>(items.data());
    items_bytes_ = static_cast<std::uint32_t>(items.size());
    later_bytes_ = 0;
  }
  bool is_borrowing() const noexcept { return block_ == 0 && items_bytes_ > 0; }
  /// What its records take in memory of its own.
  std::size_t own_bytes() const noexcept { return block_ == 0 ? 0 : block_bytes(block_); }
  /// How much more they would take with so many bytes of records behind them.
  std::size_t growth_for(std::size_t record_bytes) const noexcept;
  /// Makes the span independent of the ring. Throws std::bad_alloc, as the next two do.
  void keep() { append({}); }
  void append(std::span<const std::byte> record);
  void replace_later(std::span<const std::byte> records);
  void forget_records() noexcept;

 private:
  // A block with what the allocator puts before it is a power of two.
  static constexpr std::size_t overhead_bytes = 8;
  static constexpr std::size_t block_bytes(std::uint8_t block) noexcept { return std::size_t{16} << block; }
  static std::uint8_t block_for(std::size_t bytes) noexcept;
  void take(OpenSpan& other) noexcept;

  std::uint8_t block_ = 0;  // its size class; 0: none
  std::byte* bytes_ = nullptr;
  std::uint32_t items_bytes_ = 0, later_bytes_ = 0;
};
static_assert(sizeof(OpenSpan) == 80);

}  // namespace lens::assemble
