// SPDX-License-Identifier: Apache-2.0
#include "src/record/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <limits>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lens::record {
namespace {

#if defined(__x86_64__)
bool detect() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx)) return false;
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char line[32];
  const ssize_t size = read(file, line, sizeof line);
  close(file);
  const std::string_view clocksource(line, size > 0 ? std::size_t(size) : 0);
  return is_invariant_counter(edx, clocksource.substr(0, clocksource.find('\n')));
}
#elif defined(__aarch64__)
bool detect() noexcept { return true; }  // the architecture's generic timer is one clock by definition
#else
bool detect() noexcept { return false; }
#endif

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

bool has_invariant_counter() noexcept {
  static const bool invariant = detect();
  return invariant;
}

// Of several readings the one that took least: an interrupt between two clocks would shift them.
ClockSample ClockSample::now() noexcept {
  detail::ThreadState clock{};
  clock.system_clock = !has_invariant_counter();
  ClockSample best;
  std::uint64_t best_width = std::numeric_limits<std::uint64_t>::max();
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::uint64_t before = detail::now_ticks(clock);
    const std::int64_t monotonic_ns = read_clock(CLOCK_MONOTONIC);
    const std::int64_t unix_ns = read_clock(CLOCK_REALTIME);
    const std::uint64_t after = detail::now_ticks(clock);
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {before + best_width / 2, monotonic_ns, unix_ns};
  }
  return best;
}

}  // namespace lens::record
