// SPDX-License-Identifier: Apache-2.0
#include "tools/send/spool_backlog.h"

namespace lens::send {

std::optional<Backlog::Request> SpoolBacklog::next() {
  auto request = spool_.take();
  if (!request) return std::nullopt;
  passed_spans_ += request->spans();
  given_.push_back(std::move(*request));
  return Request{given_.back().message(), given_.back().spans()};
}

void SpoolBacklog::settle() {
  for (const exporting::SpooledRequest& request : given_) spool_.remove(request);
  given_.clear();
}

}  // namespace lens::send
