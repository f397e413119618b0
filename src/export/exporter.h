// SPDX-License-Identifier: Apache-2.0
// Where finished spans go. One interface for all destinations; the pipeline thread calls it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace lens::exporting {

/// What the pipeline tells the exporter at the end, for those that leave a record of it.
struct FinalCounters {
  std::uint64_t recorded = 0, exported = 0, dropped = 0, truncated = 0;
};

/// Takes one line for people. May be called often: whoever receives it limits the rate.
using ErrorSink = std::function<void(std::string_view)>;

class Exporter {
 public:
  virtual ~Exporter() = default;

  /// `spans` is a run of encoded ScopeSpans.spans elements, `count` of them. Returns how many were taken; the rest
  /// is lost, and the reason has gone to the error sink. Throws nothing but std::bad_alloc.
  virtual std::uint64_t export_spans(std::string_view spans, std::uint64_t count) = 0;
  /// What was taken leaves the process, as far as that is in this process's power.
  virtual void flush() {}
  virtual void finish(const FinalCounters&) {}
};

}  // namespace lens::exporting
