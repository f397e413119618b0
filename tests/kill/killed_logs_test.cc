// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/export/http_peer.h"
#include "tests/flow/recorded_logs.h"
#include "tests/kill/child.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

// Contract: 6.logs-killed
TEST(KilledLogs, AreAllThereAndNameTheSpanThatWasOpen) {
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const RunPlace place;
    const Shared<std::atomic<int>> logged;
    Config config = place.config();
    config.logs_enabled = true;
    config.standard.log_batch.schedule_delay = std::chrono::milliseconds(round % 2 == 0 ? 5 : 3'600'000);
    Child child([&] {
      auto telemetry = setup_telemetry(config, {});
      auto step = managed_span(SpanGroup::step, "step");
      for (int i = 0;; ++i) {
        log(Severity::info, std::to_string(i), "iteration"_a = i);
        *logged = i + 1;
        std::this_thread::sleep_for(std::chrono::microseconds(10));  // within what a ring holds
      }
    });
    while (*logged < 1000 + 100 * round) std::this_thread::yield();
    child.kill();
    place.recover();
    const RecordedLogs logs = read_logs(place.traces());
    std::set<std::string> bodies;
    const std::string step = logs.trace.only("step").span_id;
    for (const auto& record : logs.records) {
      bodies.insert(body_of(record));
      EXPECT_EQ(record.value("spanId", ""), step);
    }
    for (int i = 0; i < *logged; ++i) EXPECT_TRUE(bodies.contains(std::to_string(i))) << i;
    if (HasFailure()) break;
  }
}

// Contract: 6.logs-killed
TEST(KilledLogs, ThatWaitForACollectorAreAllThere) {
  const RunPlace place;
  const HttpPeer silent([](int, const HttpRequest&) { return hang(); });
  const Shared<std::atomic<int>> flushed;
  constexpr int batches = 3, records = 100;
  setenv("no_proxy", "*", 1);
  Child child([&] {
    Config config = place.config();
    config.logs_enabled = true;
    config.traces_enabled = config.metrics_enabled = false;
    config.exporter = "otlp";
    config.spool_size_bytes = 0;  // only the file of rings has them
    config.standard.otlp_logs = {.endpoint = silent.url(), .protocol = OtlpProtocol::http_protobuf};
    config.standard.log_batch.schedule_delay = std::chrono::hours(1);
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    for (int batch = 0; batch < batches; ++batch) {
      for (int i = 0; i < records; ++i) log(Severity::info, std::to_string(batch * records + i));
      telemetry.force_flush(std::chrono::milliseconds(50));
      ++*flushed;
    }
    for (;;) pause();
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while ((*flushed < batches || silent.requests().empty()) && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  child.kill();
  EXPECT_EQ(*flushed, batches);
  EXPECT_GT(silent.requests().size(), 0u);
  EXPECT_EQ(place.recover().size(), 1u);
  std::multiset<std::string> bodies;
  for (const auto& record : read_logs(place.traces()).records) bodies.insert(body_of(record));
  for (int i = 0; i < batches * records; ++i) EXPECT_EQ(bodies.count(std::to_string(i)), 1u) << i;
}

}  // namespace
}  // namespace lens::tests
