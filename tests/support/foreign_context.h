// SPDX-License-Identifier: Apache-2.0
// The context of a span that another process began.
#pragma once

#include "lens/context.h"

namespace lens::tests {

inline SpanContext foreign_context() {
  SpanContext context;
  context.trace_id.bytes.fill(0xab);
  context.span_id.bytes.fill(0xcd);
  context.flags = SpanContext::sampled;
  return context;
}

}  // namespace lens::tests
