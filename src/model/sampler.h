// SPDX-License-Identifier: Apache-2.0
// Which traces are kept: the sampler that OTEL_TRACES_SAMPLER names. The thread that tells a span's context and the
// pipeline that keeps or drops the span both ask here, and get the same answer without having spoken to each other.
#pragma once

#include <cmath>
#include <cstdint>

#include "lens/context.h"
#include "src/model/identity.h"

namespace lens::model {

struct TraceSampler {
  /// A trace id's randomness: its last 56 bits, as W3C trace context has it.
  static constexpr std::uint64_t randomness_end = std::uint64_t{1} << 56;

  /// Traces whose randomness lies below are not kept; so a higher ratio keeps what a lower one does.
  std::uint64_t threshold = 0;
  /// A span with a parent is kept when the parent was.
  bool follows_parent = true;

  static std::uint64_t threshold_of(double ratio) noexcept {
    return static_cast<std::uint64_t>(std::llround((1.0 - ratio) * double(randomness_end)));
  }

  /// No span, whatever its trace and its parent.
  bool keeps_nothing() const noexcept { return threshold == randomness_end && !follows_parent; }
  bool keeps(TraceWords trace) const noexcept { return (big_endian(trace.low) & (randomness_end - 1)) >= threshold; }

  /// W3C flags of a span that begins a trace.
  std::uint8_t flags_of_root(TraceWords trace) const noexcept {
    return SpanContext::random_trace_id | (keeps(trace) ? SpanContext::sampled : 0);
  }

  /// W3C flags of a span under an explicit parent. That a span of this process is not kept may have other reasons than
  /// its trace: it always binds its children.
  std::uint8_t flags_under(std::uint8_t parent_flags, TraceWords trace, bool parent_is_of_this_process) const noexcept {
    if (follows_parent || parent_is_of_this_process) return parent_flags;
    const auto others = static_cast<std::uint8_t>(parent_flags & ~SpanContext::sampled);
    return others | (keeps(trace) ? SpanContext::sampled : 0);
  }
};

}  // namespace lens::model
