// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "lens/propagation.h"

namespace lens {
namespace {

constinit std::mutex carrier_mutex;
constinit SpanContext carrier{};

}  // namespace

void set_pp_trace_carrier(const SpanContext& context) noexcept {
  std::lock_guard lock(carrier_mutex);
  carrier = context;
}

SpanContext get_pp_trace_carrier() noexcept {
  std::lock_guard lock(carrier_mutex);
  return carrier;
}

}  // namespace lens
