// SPDX-License-Identifier: Apache-2.0
// Sends a backlog to a collector, at a bounded rate, and settles what is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tools/send/backlog.h"
#include "tools/send/delivery.h"

namespace lens::send {

/// How far it is. Counts items: spans, metrics or log records.
struct Progress {
  std::uint64_t accepted = 0;
  std::uint64_t rejected = 0;           // by the collector, for good
  std::uint64_t total = 0, passed = 0;  // of the backlog, in its unit
  std::string stopped = {};             // why the rest was not sent; empty when there is none

  bool is_whole() const noexcept { return rejected == 0 && stopped.empty(); }
};

struct SendOptions {
  double items_per_s = 0;                                 // 0: as fast as the collector takes them
  std::function<void(const Progress&)> on_progress = {};  // after each request
  std::function<void(std::string_view)> report = {};      // what the collector says, each line once
};

/// A request is settled when the collector has taken it. One that it refuses is given up when it takes another, and
/// kept when it takes none: whoever refuses everything is not to be emptied into.
Progress send_all(Backlog& backlog, Delivery& delivery, const SendOptions& options);

}  // namespace lens::send
