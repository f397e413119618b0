// SPDX-License-Identifier: Apache-2.0
// Turns groups on and off as other programs ask for in the file of rings (`lens set`).
//
// Threads: the pipeline thread.
// Errors:  std::bad_alloc only. What stands in the file is never trusted: it may be anything.
#pragma once

#include <cstdint>
#include <string_view>

#include "lens/group.h"
#include "src/record/layout.h"

namespace lens::telemetry {

class GroupControl {
 public:
  /// What was asked for before is of an earlier session.
  GroupControl(record::ControlBlock& block, const Vocabulary& vocabulary) noexcept
      : block_(block), vocabulary_(vocabulary), seen_(block.request.load(std::memory_order_relaxed)) {}

  /// Does what is asked for anew. One load when nothing is.
  void look() {
    // Relaxed: a request is looked at again before it is believed.
    if (block_.request.load(std::memory_order_relaxed) != seen_) [[unlikely]]
      take_request();
  }

 private:
  void take_request();
  GroupSet resolve(std::string_view spec) const;
  void answer(std::uint64_t request, record::ControlOutcome outcome, std::string_view text) noexcept;

  record::ControlBlock& block_;
  const Vocabulary& vocabulary_;
  std::uint64_t seen_;
};

}  // namespace lens::telemetry
