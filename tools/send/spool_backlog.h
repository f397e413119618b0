// SPDX-License-Identifier: Apache-2.0
// What lies in the spool of one signal, of all runs. What another process is sending just now is left to that.
#pragma once

#include <deque>

#include "src/export/spool.h"
#include "tools/send/backlog.h"

namespace lens::send {

class SpoolBacklog : public Backlog {
 public:
  /// Of a spool without a run id, which must outlive this.
  SpoolBacklog(exporting::Spool& spool, Signal signal)
      : spool_(spool), signal_(signal), total_items_(spool.contents(signal).items) {}

  std::optional<Request> next() override;
  void settle() override;
  void settle_first(std::uint64_t items) override;
  std::uint64_t total() const override { return total_items_; }
  std::uint64_t passed() const override { return passed_items_; }

 private:
  exporting::Spool& spool_;
  Signal signal_;
  std::uint64_t total_items_, passed_items_ = 0;
  std::uint64_t settled_items_ = 0;              // the first of the request that was given last
  std::deque<exporting::SpooledRequest> given_;  // not settled yet
};

}  // namespace lens::send
