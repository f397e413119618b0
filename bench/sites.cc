// SPDX-License-Identifier: Apache-2.0
#include "bench/sites.h"

#include <atomic>
#include <memory>

#include "lens/span.h"

namespace lens::bench {
namespace {

using namespace lens::literals;

// Keeps the compiler from merging iterations.
inline void next() { asm volatile("" ::: "memory"); }

Group off{"bench_off"};
Group on{"bench_on"};

struct FloorRing {
  static constexpr std::uint64_t bytes = 1 << 20, record_bytes = 64;
  alignas(64) std::atomic<std::uint64_t> head{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};
  alignas(64) std::byte data[bytes];
};

thread_local std::unique_ptr<FloorRing> floor_ring;

inline std::uint64_t read_clock() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return detail::now_ticks(detail::thread_state);
#endif
}

void nest(int depth) {
  auto span = managed_span(on, "bench.nested");
  if (depth > 1) nest(depth - 1);
  next();
}

}  // namespace

void empty_loop(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) next();
}

void disabled_sites(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto span = managed_span(off, "bench.disabled");
    next();
  }
}

void disabled_sites_with_attributes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto span =
        managed_span(off, "bench.disabled", "count"_a = i, "half"_a = 0.5 * double(i), "text"_a = "sixteen letters.");
    next();
  }
}

void spans(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto span = managed_span(on, "bench.span");
    next();
  }
}

void spans_with_attributes(std::uint64_t count) {
  const std::string text = "sixteen letters.";
  for (std::uint64_t i = 0; i < count; ++i) {
    auto span =
        managed_span(on, "bench.span", "bench.count"_a = i, "bench.half"_a = 0.5 * double(i), "bench.text"_a = text);
    next();
  }
}

void spans_with_text(std::uint64_t count, std::string_view name) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto span = managed_span(on, name);
    next();
  }
}

void nested_spans(std::uint64_t count, int depth) {
  for (std::uint64_t i = 0; i < count; i += std::uint64_t(depth)) nest(depth);
}

void floor_records(std::uint64_t count) {
  if (!floor_ring) floor_ring = std::make_unique<FloorRing>();
  FloorRing& ring = *floor_ring;
  std::uint64_t limit = ring.tail.load(std::memory_order_acquire) + FloorRing::bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = read_clock();
    next();
    const std::uint64_t end = read_clock();
    const std::uint64_t head = ring.head.load(std::memory_order_relaxed);
    if (head + FloorRing::record_bytes > limit) {
      limit = ring.tail.load(std::memory_order_acquire) + FloorRing::bytes;
      if (head + FloorRing::record_bytes > limit) return;
    }
    // Word by word into the ring: a record that is made beside it and copied waits for its own stores.
    auto* const record = reinterpret_cast<std::uint64_t*>(ring.data + head % FloorRing::bytes);
    record[0] = begin;
    record[1] = end;
    record[2] = i;
    for (std::uint64_t word = 3; word < FloorRing::record_bytes / 8; ++word) record[word] = word;
    ring.head.store(head + FloorRing::record_bytes, std::memory_order_release);
  }
}

void drain_floor() {
  if (floor_ring) floor_ring->tail.store(floor_ring->head.load(std::memory_order_relaxed), std::memory_order_release);
}

}  // namespace lens::bench
