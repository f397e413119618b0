// SPDX-License-Identifier: Apache-2.0
// How the file of rings says what was open when drained room was given back: one entry a span, its records behind it.
#pragma once

#include <cstdint>

#include "lens/recorder.h"

namespace lens::assemble {

enum class OpenKind : std::uint32_t {
  scope = 1,      // a span or activation of the ring's present owner, youngest last
  started = 2,    // a span that is no scope
  elsewhere = 3,  // a record about a span of another ring, not applied yet
};

struct OpenEntry {
  OpenKind kind;
  std::uint32_t bytes;  // of the records behind it: the begin record, then those that came for the span later
  detail::Position position;
  std::uint64_t trace[2];
  std::uint64_t parent;
  std::uint32_t flags;  // W3C trace flags; bit 8: the parent is remote
  std::uint32_t begin_bytes;
  // The start as it was reckoned then: the present rate, carried back over hours, would be off by milliseconds.
  std::int64_t start_unix_ns;
  std::int64_t start_monotonic_ns;
};
static_assert(sizeof(OpenEntry) == 64);

}  // namespace lens::assemble
