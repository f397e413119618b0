// SPDX-License-Identifier: Apache-2.0
// collector_load [SECONDS]: records a million spans a second on one thread, a thousand at each millisecond, and sends
// them, at default settings, to the collector that the environment names.
#include <lens/lens.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace {

using namespace lens::literals;
using std::chrono::steady_clock;

/// A line of /proc/self/status, in mebibytes.
double status_mib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) / 1024;
  return 0;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void record_burst() {
  for (int i = 0; i < 1000; ++i)
    auto span = lens::managed_span(lens::SpanGroup::step, "load", "iteration"_a = i, "loss"_a = 0.5,
                                   "phase"_a = "sixteen letters.");
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 60;
  lens::Config config = lens::Config::from_env();
  config.enabled = true;
  config.span_groups = "per_step";
  const double before_mib = status_mib("VmRSS");
  auto telemetry = lens::setup_telemetry(config, {});
  const auto began = steady_clock::now();
  auto next = began;
  std::chrono::duration<double, std::milli> longest_stall{};
  // A burst that comes late is made up for at once: a machine that stands still for longer than the ring holds drops
  // spans whatever the recorder does.
  for (int burst = 0; burst < seconds * 1000; ++burst) {
    record_burst();
    std::this_thread::sleep_until(next += std::chrono::milliseconds(1));
    longest_stall = std::max(longest_stall, decltype(longest_stall)(steady_clock::now() - next));
  }
  const std::chrono::duration<double> took = steady_clock::now() - began;
  telemetry.shutdown();
  const lens::TelemetryCounters counters = telemetry.counters();
  const double million = seconds;
  std::printf("  %.1f s, %.0f million spans: %llu recorded, %llu exported, %llu dropped\n", took.count(), million,
              static_cast<unsigned long long>(counters.spans_recorded),
              static_cast<unsigned long long>(counters.spans_exported),
              static_cast<unsigned long long>(counters.spans_dropped));
  std::printf("  the thread that records woke up %.1f ms late at worst\n", longest_stall.count());
  std::printf("  %.3f s of processor time per million spans; at most %.1f MiB resident, %.1f MiB of it since set-up\n",
              processor_seconds() / million, status_mib("VmHWM"), status_mib("VmHWM") - before_mib);
}
