// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/group_control.h"

#include <string.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "lens/span.h"
#include "src/base/text.h"
#include "src/model/group_registry.h"

namespace lens::telemetry {

using record::ControlOutcome;

void GroupControl::take_request() {
  // Acquire: the spec was written before.
  const std::uint64_t request = block_.request.load(std::memory_order_acquire);
  char spec[sizeof block_.spec];
  memcpy(spec, block_.spec, sizeof spec);
  // Acquire fence: the copy comes before the second look, which says whether somebody wrote meanwhile.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (request % 2 != 0 || block_.request.load(std::memory_order_relaxed) != request) return;  // the next time
  // Relaxed: it was set before the pipeline began.
  if (!detail::recording.load(std::memory_order_relaxed))
    return answer(request, ControlOutcome::refused, "traces are off");
  try {
    const GroupSet groups = resolve({spec, strnlen(spec, sizeof spec)});
    if (!detail::GroupRegistry::instance().enable(groups)) return;  // set-up is not over
    answer(request, ControlOutcome::applied, base::join(enabled_span_groups(), ", "));
  } catch (const std::invalid_argument& unknown) {
    answer(request, ControlOutcome::refused, unknown.what());
  }
}

/// As the session's vocabulary says; besides, the groups that libraries have declared.
GroupSet GroupControl::resolve(std::string_view spec) const {
  GroupSet groups;
  for (const std::string_view item : base::split(spec, ',')) {
    const std::string word = base::lower(base::trim(item));
    const bool is_of_vocabulary = vocabulary_.groups().contains(word) || vocabulary_.presets().contains(word);
    if (!is_of_vocabulary && detail::GroupRegistry::instance().knows(word))
      groups.insert(word);
    else
      groups = std::move(groups) | vocabulary_.resolve(word);
  }
  return groups;
}

void GroupControl::answer(std::uint64_t request, ControlOutcome outcome, std::string_view text) noexcept {
  seen_ = request;
  block_.outcome = outcome;
  memset(block_.answer, 0, sizeof block_.answer);
  memcpy(block_.answer, text.data(), std::min(text.size(), sizeof block_.answer));
  // Release: who sees that it is answered sees the answer.
  block_.answered.store(request, std::memory_order_release);
}

}  // namespace lens::telemetry
