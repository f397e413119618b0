// SPDX-License-Identifier: Apache-2.0
// Which failures are news to people: each cause once, for all exporters of a process, as long as it lasts; and what is
// lost by it, once for each exporter.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

namespace lens::exporting {

class FailureNews {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether it is to be said that this exporter fails for this cause: not while any exporter does for which it was
  /// said, and not within a minute of that. `exporter` is whatever tells one from another.
  bool fails(const void* exporter, const std::string& cause, Clock::time_point now);
  /// Whether it is to be said that this exporter has lost something for a cause that it failed for: not when it was
  /// this one for which the cause was said, not twice while that lasts, and not within a minute of that.
  bool loses(const void* exporter, const std::string& cause, Clock::time_point now);
  /// What this exporter failed for is over.
  void succeeds(const void* exporter);

 private:
  struct Said {
    Clock::time_point at;
    std::set<const void*> exporters;                // that have failed for it ever since
    std::map<const void*, Clock::time_point> told;  // when something was said of each
  };

  std::map<std::string, Said> said_;
};

}  // namespace lens::exporting
