// SPDX-License-Identifier: Apache-2.0
#include "src/export/exporter.h"

#include <poll.h>

#include <iterator>
#include <utility>

namespace lens::exporting {
namespace {

// In seconds: those that OpenTelemetry advises for durations of requests.
constexpr double duration_bounds[] = {0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10};

}  // namespace

std::uint64_t ExportCounts::refused() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [cause, count] : lost) sum += count;
  return sum;
}

void Exporter::wait(int wake, std::chrono::milliseconds most) {
  pollfd woken{wake, POLLIN, 0};
  ::poll(&woken, 1, static_cast<int>(most.count()));
}

void Exporter::note_failure(std::string message) {
  last_failure_ = std::move(message);
  if (!all_failed_since_) all_failed_since_ = std::chrono::system_clock::now();
}

void Exporter::count_lost(std::uint64_t count, const std::string& cause) {
  if (count > 0) counts_.lost[cause] += count;
}

void Exporter::count_duration(std::chrono::steady_clock::duration duration, const std::string& cause) {
  const std::vector<double> bounds(std::begin(duration_bounds), std::end(duration_bounds));
  counts_.durations.try_emplace(cause, bounds).first->second.record(std::chrono::duration<double>(duration).count());
}

}  // namespace lens::exporting
