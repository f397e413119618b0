// SPDX-License-Identifier: Apache-2.0
// Who wants no limit says the largest that there is: it must not be one that has passed already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "src/export/metric_reader.h"
#include "src/setup/plan.h"
#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

constexpr auto endless = std::chrono::milliseconds::max();

TEST(EndlessLimit, WaitsForAFlushADrainAndTheShutdown) {
  TemporaryDirectory directory;
  std::vector<std::string> told;
  Config config = recording_config(directory.path());
  config.on_error = [&](std::string_view line) { told.emplace_back(line); };
  auto telemetry = setup_telemetry(config, {});
  { auto span = managed_span(SpanGroup::step, "first"); }
  EXPECT_TRUE(telemetry.force_flush(endless));
  { auto span = managed_span(SpanGroup::step, "second"); }
  EXPECT_TRUE(graceful_drain(endless));
  { auto span = managed_span(SpanGroup::step, "third"); }
  telemetry.shutdown(endless);
  EXPECT_EQ(telemetry.counters().spans_exported, 3u);
  EXPECT_THAT(told, testing::IsEmpty());
}

TEST(EndlessLimit, OfTheConfigurationIsOneThatClocksHaveRoomFor) {
  Config config;
  config.enabled = true;
  for (BatchConfig* batch : {&config.standard.span_batch, &config.standard.log_batch})
    batch->schedule_delay = batch->export_timeout = endless;
  const setup::Plan plan = setup::make_plan(config, {});
  const auto now = std::chrono::steady_clock::now();
  for (const BatchConfig& batch : {plan.span_batch, plan.log_batch}) {
    EXPECT_GT(now + batch.schedule_delay, now);
    EXPECT_GT(now + batch.export_timeout, now);
  }
}

TEST(EndlessLimit, BetweenMetricsNeverComes) { EXPECT_FALSE(exporting::MetricReader(endless, nullptr).is_due()); }

}  // namespace
}  // namespace lens::tests
