// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/open_span.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace lens::assemble {

std::uint8_t OpenSpan::block_for(std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  constexpr int first_bits = 4;  // block_bytes(0)
  const int bits = std::bit_width(bytes + overhead_bytes - 1);
  return static_cast<std::uint8_t>(bits > first_bits ? bits - first_bits : 1);
}

void OpenSpan::take(OpenSpan& other) noexcept {
  static_cast<OpenSpanFacts&>(*this) = other;
  block_ = other.block_;
  bytes_ = other.bytes_;
  items_bytes_ = other.items_bytes_;
  later_bytes_ = other.later_bytes_;
  other.block_ = 0;
  other.borrow({});
}

std::size_t OpenSpan::growth_for(std::size_t record_bytes) const noexcept {
  const std::uint8_t block = block_for(std::size_t{items_bytes_} + later_bytes_ + record_bytes);
  return block <= block_ ? 0 : block_bytes(block) - own_bytes();
}

void OpenSpan::append(std::span<const std::byte> record) {
  const std::size_t used = std::size_t{items_bytes_} + later_bytes_;
  if (const std::uint8_t block = block_for(used + record.size()); block > block_) {
    void* memory = std::realloc(block_ == 0 ? nullptr : bytes_, block_bytes(block) - overhead_bytes);
    if (!memory) throw std::bad_alloc();
    if (block_ == 0 && used > 0) std::memcpy(memory, bytes_, used);
    bytes_ = static_cast<std::byte*>(memory);
    block_ = block;
  }
  if (!record.empty()) std::memcpy(bytes_ + used, record.data(), record.size());
  later_bytes_ += static_cast<std::uint32_t>(record.size());
}

void OpenSpan::replace_later(std::span<const std::byte> records) {
  later_bytes_ = 0;
  append(records);
}

void OpenSpan::forget_records() noexcept {
  if (block_ != 0) std::free(bytes_);
  block_ = 0;
  borrow({});
}

}  // namespace lens::assemble
