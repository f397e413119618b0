// SPDX-License-Identifier: Apache-2.0
// A span whose end has not come yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lens/recorder.h"
#include "src/base/buffer.h"
#include "src/model/identity.h"

namespace lens::assemble {

struct OpenSpan {
  detail::Position position = 0;
  detail::RecordHeader begin{};
  model::TraceWords trace{};
  std::uint64_t span = 0;  // id; of an activation: the id of the span that it makes current
  std::uint64_t parent = 0;
  std::uint32_t name = 0;
  std::uint8_t flags = 0;
  bool parent_is_remote = false;
  bool is_activation = false;  // no span of its own
  bool is_started = false;     // no scope
  std::int64_t start_monotonic_ns = 0;
  std::int64_t start_unix_ns = 0;
  std::span<const std::byte> items;  // behind the begin record: in the ring until `keep`, then in `kept`
  base::Buffer kept;
  base::Buffer later;  // whole records that came after the begin

  /// Makes the span independent of the ring.
  void keep() {
    if (items.empty() || items.data() == kept.data()) return;
    kept.clear();
    kept.append(items.data(), items.size());
    items = {kept.data(), kept.size()};
  }
};

}  // namespace lens::assemble
