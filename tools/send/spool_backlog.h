// SPDX-License-Identifier: Apache-2.0
// What lies in the spool, of all runs. What another process is sending just now is left to that.
#pragma once

#include <deque>

#include "src/export/spool.h"
#include "tools/send/backlog.h"

namespace lens::send {

class SpoolBacklog : public Backlog {
 public:
  /// Of a spool without a run id, which must outlive this.
  explicit SpoolBacklog(exporting::Spool& spool) : spool_(spool), total_spans_(spool.contents().spans) {}

  std::optional<Request> next() override;
  void settle() override;
  std::uint64_t total() const override { return total_spans_; }
  std::uint64_t passed() const override { return passed_spans_; }

 private:
  exporting::Spool& spool_;
  std::uint64_t total_spans_, passed_spans_ = 0;
  std::deque<exporting::SpooledRequest> given_;  // not settled yet
};

}  // namespace lens::send
