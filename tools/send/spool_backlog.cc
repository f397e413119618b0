// SPDX-License-Identifier: Apache-2.0
#include "tools/send/spool_backlog.h"

#include "src/otlp/request.h"

namespace lens::send {

std::optional<Backlog::Request> SpoolBacklog::next() {
  auto request = spool_.take(signal_);
  if (!request) return std::nullopt;
  passed_items_ += request->items();
  settled_items_ = 0;
  given_.push_back(std::move(*request));
  return Request{given_.back().message(), given_.back().items()};
}

void SpoolBacklog::settle() {
  for (const exporting::SpooledRequest& request : given_) spool_.remove(request);
  given_.clear();
}

// Where the rest cannot be written the whole request stays, and may come twice.
void SpoolBacklog::settle_first(std::uint64_t items) {
  exporting::SpooledRequest last = std::move(given_.back());
  given_.pop_back();
  settle();
  const std::string rest = otlp::without_first(last.message(), items - settled_items_);
  settled_items_ = spool_.shorten(last, rest, last.items() - (items - settled_items_)) ? items : settled_items_;
  given_.push_back(std::move(last));
}

}  // namespace lens::send
