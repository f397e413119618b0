// SPDX-License-Identifier: Apache-2.0
#include "tools/send/send_all.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/otlp/request.h"

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

  bool is_more_than_a_second(std::uint64_t items) const {
    return items_per_s_ > 0 && static_cast<double>(items) > items_per_s_;
  }
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

/// A request on its way, in parts where it holds more than a second may take or is too large for the collector.
class RequestInParts {
 public:
  RequestInParts(Delivery& delivery, Pace& pace, const Backlog::Request& request) : delivery_(delivery), pace_(pace) {
    parts_.push_back({std::string(request.bytes), request.items});
  }

  /// Until it is decided, or nobody takes it. `on_accepted` hears how many of the first items are over when a part was
  /// taken and others follow.
  Delivered deliver(const std::function<void(std::uint64_t items)>& on_accepted) {
    Delivered whole{.kind = Kind::refused};
    for (std::uint64_t over = 0; !parts_.empty();) {
      const auto part = next();
      const Delivered delivered = delivery_.deliver(part.bytes, part.items);
      if (delivered.kind == Kind::too_large && part.bytes.size() > exporting::least_halved_bytes && halve(part))
        continue;
      if (!delivered.outcome.message.empty() || whole.outcome.message.empty()) whole.outcome = delivered.outcome;
      if (delivered.kind == Kind::not_delivered) {
        whole.kind = Kind::not_delivered;
        return whole;
      }
      over += part.items;
      whole.accepted += delivered.accepted;
      whole.rejected += delivered.rejected;
      if (delivered.kind != Kind::accepted) continue;
      whole.kind = Kind::accepted;
      if (!parts_.empty()) on_accepted(over);
    }
    return whole;
  }

 private:
  struct Part {
    std::string bytes;
    std::uint64_t items;
  };

  /// When its time has come.
  Part next() {
    for (;;) {
      Part part = std::move(parts_.front());
      parts_.pop_front();
      if (pace_.is_more_than_a_second(part.items) && halve(part)) continue;
      pace_.wait_for(part.items);
      return part;
    }
  }

  bool halve(const Part& part) {
    auto halves = otlp::halved(part.bytes);
    if (!halves) return false;
    parts_.push_front({std::move(halves->second), halves->second_items});
    parts_.push_front({std::move(halves->first), halves->first_items});
    return true;
  }

  Delivery& delivery_;
  Pace& pace_;
  std::deque<Part> parts_;
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
    const Delivered delivered =
        RequestInParts(delivery, pace, *request).deliver([&](std::uint64_t items) { backlog.settle_first(items); });
    progress.passed = backlog.passed();
    progress.accepted += delivered.accepted;
    progress.rejected += delivered.rejected;
    if (delivered.kind == Kind::not_delivered) {
      progress.stopped = delivered.outcome.message;
      return progress;
    }
    reporter.report(delivered.outcome.message);
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
