// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <exception>
#include <filesystem>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

// What a process can see of itself that a tracer might have touched.
struct Footprint {
  std::size_t threads = thread_count();
  std::size_t files = count_files();
  std::terminate_handler terminate = std::get_terminate();
  std::vector<void*> handlers = signal_handlers();

  static std::size_t count_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd"), end;
    return static_cast<std::size_t>(std::distance(files, end));
  }
  static std::vector<void*> signal_handlers() {
    std::vector<void*> handlers;
    for (int signal = 1; signal < SIGRTMAX; ++signal) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      handlers.push_back(reinterpret_cast<void*>(action.sa_handler));
    }
    return handlers;
  }
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

void train() {
  EXPECT_FALSE(managed_span(SpanGroup::job, "train"));
  EXPECT_FALSE(span_cm("ungated"));
  EXPECT_FALSE(start_span(SpanGroup::job, "request"));
  record_span(SpanGroup::job, "startup", SystemTime{}, SystemTime{});
  EXPECT_EQ(trace_fn(SpanGroup::job, "called", [](int x) { return x + 1; })(1), 2);
  EXPECT_EQ(with_current_context([] { return 3; })(), 3);
  EXPECT_FALSE(current_context());
  EXPECT_FALSE(graceful_drain());
}

void expect_no_trace(const Config& config, const Rank& rank) {
  const Footprint before;
  {
    auto telemetry = setup_telemetry(config, rank);
    EXPECT_FALSE(telemetry.is_exporting());
    train();
    EXPECT_EQ(Footprint(), before);
    EXPECT_TRUE(telemetry.force_flush());
  }
  EXPECT_EQ(Footprint(), before);
}

// Contract: 2.enabled, 3.disabled
TEST(DisabledTelemetry, LeavesNoTrace) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path() / "traces");
  config.shm_dir = directory.path() / "shm";
  config.enabled = false;
  expect_no_trace(config, {});
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(DisabledTelemetry, LeavesNoTraceWithTheStandardSwitch) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path() / "traces");
  config.standard.sdk_disabled = true;
  expect_no_trace(config, {});
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// Contract: 3.disabled
TEST(DisabledTelemetry, LeavesNoTraceOnARankThatDoesNotExport) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path() / "traces");
  config.shm_dir = directory.path() / "shm";
  expect_no_trace(config, {.rank = 0, .world_size = 2});
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// Contract: 2.signals
TEST(DisabledTelemetry, LeavesNoTraceWhenTracesAreOff) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path() / "traces");
  config.traces_enabled = false;
  auto telemetry = setup_telemetry(config, {});
  train();
  telemetry.shutdown();
  EXPECT_EQ(telemetry.counters().spans_recorded, 0u);
}

// Contract: 2.unknown
TEST(DisabledTelemetry, StillReportsAMistypedVariable) {
  Config config;
  config.warnings = {"NEMO_LENS_ENABELD is not known"};
  std::string reported;
  config.on_error = [&](std::string_view line) { reported += line; };
  auto telemetry = setup_telemetry(config, {});
  EXPECT_EQ(reported, "NEMO_LENS_ENABELD is not known");
}

}  // namespace
}  // namespace lens::tests
