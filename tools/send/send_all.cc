// SPDX-License-Identifier: Apache-2.0
#include "tools/send/send_all.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include <fmt/format.h>

namespace lens::send {
namespace {

using Kind = Delivered::Kind;
using Clock = std::chrono::steady_clock;

// A collector that refuses so many and takes none between them is taken to refuse all.
constexpr int most_refusals = 10;
constexpr std::size_t most_reported_lines = 20;

/// Spaces requests so that the items of each have their time.
class Pace {
 public:
  explicit Pace(double items_per_s) : items_per_s_(items_per_s) {}

  void wait_for(std::uint64_t items) {
    if (items_per_s_ <= 0) return;
    std::this_thread::sleep_until(next_);
    const auto duration = std::chrono::duration<double>(static_cast<double>(items) / items_per_s_);
    next_ = std::max(next_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(duration);
  }

 private:
  double items_per_s_;
  Clock::time_point next_ = Clock::now();
};

class Reporter {
 public:
  explicit Reporter(const SendOptions& options) : options_(options) {}

  void report(const std::string& line) {
    if (!options_.report || line.empty() || said_.size() >= most_reported_lines) return;
    if (said_.insert(line).second) options_.report(line);
  }

 private:
  const SendOptions& options_;
  std::set<std::string> said_;
};

}  // namespace

Progress send_all(Backlog& backlog, Delivery& delivery, const SendOptions& options) {
  Progress progress{.total = backlog.total()};
  Reporter reporter(options);
  Pace pace(options.items_per_s);
  int refusals = 0;  // since a request was taken
  std::uint64_t refused_items = 0;
  while (const auto request = backlog.next()) {
    pace.wait_for(request->items);
    const Delivered delivered = delivery.deliver(request->bytes, request->items);
    progress.passed = backlog.passed();
    if (delivered.kind == Kind::not_delivered) {
      progress.stopped = delivered.outcome.message;
      return progress;
    }
    reporter.report(delivered.outcome.message);
    progress.accepted += delivered.accepted;
    progress.rejected += delivered.rejected;
    if (delivered.kind == Kind::accepted) {
      refusals = 0;
      refused_items = 0;
      backlog.settle();
    } else {
      refused_items += delivered.rejected;
      if (++refusals == most_refusals) break;
    }
    if (options.on_progress) options.on_progress(progress);
  }
  progress.passed = backlog.passed();
  const bool takes_none = refusals == most_refusals || (refusals > 0 && progress.accepted == 0);
  if (takes_none) {
    progress.rejected -= refused_items;
    progress.stopped =
        fmt::format("{} refused all of the last {} requests, which are kept", delivery.destination(), refusals);
  } else {
    backlog.settle();
  }
  return progress;
}

}  // namespace lens::send
