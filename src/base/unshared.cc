// SPDX-License-Identifier: Apache-2.0
#include "src/base/unshared.h"

#include <unistd.h>

#include <array>
#include <atomic>

namespace lens::base {
namespace {

// Each a descriptor plus one; 0: a free place. Without a lock, which a child might inherit held. Relaxed: fork sees all
// that its own thread did, and of what others are just at, either is right.
constinit std::array<std::atomic<int>, 64> unshared{};

void replace(int from, int to) noexcept {
  for (std::atomic<int>& place : unshared)
    if (int expected = from; place.compare_exchange_strong(expected, to, std::memory_order_relaxed)) return;
}

}  // namespace

void unshare_with_children(int file) noexcept { replace(0, file + 1); }

void forget_unshared(int file) noexcept { replace(file + 1, 0); }

void close_unshared() noexcept {
  for (std::atomic<int>& place : unshared)
    if (const int file = place.exchange(0, std::memory_order_relaxed); file != 0) close(file - 1);
}

}  // namespace lens::base
