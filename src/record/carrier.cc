// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "lens/propagation.h"

namespace lens {
namespace {

constinit std::mutex carrier_mutex;
constinit SpanContext carrier{};
constinit std::atomic<bool> is_set{false};

void lock() { carrier_mutex.lock(); }
void unlock() { carrier_mutex.unlock(); }

// A child gets no mutex locked by a thread that it does not have. From the beginning: a fork that is under way runs no
// handler that comes meanwhile.
[[gnu::constructor]] void hold_over_forks() { pthread_atfork(lock, unlock, unlock); }

}  // namespace

void set_pp_trace_carrier(const SpanContext& context) noexcept {
  std::lock_guard lock(carrier_mutex);
  carrier = context;
  is_set.store(true, std::memory_order_relaxed);
}

SpanContext get_pp_trace_carrier() noexcept {
  if (!is_set.load(std::memory_order_relaxed)) return {};
  std::lock_guard lock(carrier_mutex);
  return carrier;
}

}  // namespace lens
