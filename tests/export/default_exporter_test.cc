// SPDX-License-Identifier: Apache-2.0
// The exporter that telemetry has unless it is told otherwise, from set-up to shutdown.
#include <gmock/gmock.h>

#include "lens/lens.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/kill/child.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using namespace lens::literals;

class DefaultExporter : public testing::Test {
 protected:
  DefaultExporter() {
    setenv("no_proxy", "*", 1);
    config_.enabled = true;
    config_.span_groups = "all";
    config_.spool_dir = directory_.path() / "spool";
    config_.run_id = "run1";
    config_.metrics_enabled = false;
    config_.standard.otlp_traces.protocol = OtlpProtocol::http_protobuf;
    config_.on_error = [this](std::string_view line) {
      std::lock_guard lock(mutex_);
      said_.emplace_back(line);
    };
  }
  static void record(int count) {
    for (int i = 0; i < count; ++i) auto span = managed_span(SpanGroup::step, "step");
  }
  std::vector<std::string> said() {
    std::lock_guard lock(mutex_);
    return said_;
  }

  TemporaryDirectory directory_;
  Config config_;
  std::mutex mutex_;
  std::vector<std::string> said_;
};

TEST_F(DefaultExporter, SendsWhatIsRecorded) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  EXPECT_TRUE(telemetry.force_flush());
  ASSERT_EQ(peer.requests().size(), 1u);
  EXPECT_EQ(spans_in(peer.requests()[0].body).size(), 100u);
  EXPECT_EQ(telemetry.counters().spans_exported, 100u);
  record(50);
  telemetry.shutdown();
  ASSERT_EQ(peer.requests().size(), 2u);
  EXPECT_EQ(spans_in(peer.requests()[1].body).size(), 50u);
  EXPECT_TRUE(said().empty());
}

TEST_F(DefaultExporter, SendsNothingWhereNothingWasRecorded) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  auto telemetry = setup_telemetry(config_, Rank{});
  EXPECT_TRUE(telemetry.force_flush());
  telemetry.shutdown();
  EXPECT_EQ(peer.connections(), 0);
}

TEST_F(DefaultExporter, AFullBatchIsSentAtOnceAndTheRestWaits) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  config_.standard.span_batch.schedule_delay = std::chrono::hours(1);
  auto telemetry = setup_telemetry(config_, Rank{});
  const std::string text(1000, 'x');
  constexpr int count = 600;  // more than half a mebibyte
  for (int i = 0; i < count; ++i) auto span = managed_span(SpanGroup::step, "step", "text_of_length"_a = text);
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (telemetry.counters().spans_exported == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  ASSERT_EQ(peer.requests().size(), 1u);
  EXPECT_LT(spans_in(peer.requests()[0].body).size(), std::size_t{count});
  EXPECT_LE(peer.requests()[0].body.size(), 520u << 10);
}

TEST_F(DefaultExporter, BatchesGrowWhileTheCollectorKeepsFourWaiting) {
  std::atomic<bool> silent{true};
  HttpPeer peer([&](int, const HttpRequest&) { return silent ? hang() : answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  config_.standard.otlp_traces.timeout = 500ms;
  config_.standard.span_batch.schedule_delay = 1ms;
  config_.spool_size_bytes = 0;
  auto telemetry = setup_telemetry(config_, Rank{});
  const auto end = std::chrono::steady_clock::now() + 10s;
  for (std::size_t batches = 1; batches <= 4; ++batches) {
    record(1);
    while (peer.requests().size() < batches && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
  record(1000);
  silent = false;
  EXPECT_TRUE(telemetry.force_flush(10s));
  EXPECT_EQ(telemetry.counters().spans_dropped, 0u);
  std::size_t largest = 0;
  for (const HttpRequest& request : peer.requests()) largest = std::max(largest, spans_in(request.body).size());
  EXPECT_GE(largest, 1000u);
}

TEST_F(DefaultExporter, AForkedChildSendsItsOwnSpansAndNoneOfItsParents) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  config_.standard.span_batch.schedule_delay = std::chrono::hours(1);
  auto telemetry = setup_telemetry(config_, Rank{});
  { auto span = managed_span(SpanGroup::step, "before"); }
  EXPECT_TRUE(telemetry.force_flush());
  { auto span = managed_span(SpanGroup::step, "parents"); }
  Child child([] {
    { auto span = managed_span(SpanGroup::step, "childs"); }
    EXPECT_TRUE(graceful_drain(10s));
    _exit(testing::Test::HasFailure());  // the peer's threads are the parent's: here they would count as leaks
  });
  EXPECT_EQ(child.wait(), 0);
  telemetry.shutdown();
  std::vector<std::string> names;
  for (const HttpRequest& request : peer.requests())
    for (const std::string& name : spans_in(request.body)) names.push_back(name.substr(name.find('/') + 1));
  EXPECT_THAT(names, testing::UnorderedElementsAre("before", "parents", "childs"));
  EXPECT_EQ(peer.connections(), 2) << "one each";
}

TEST_F(DefaultExporter, ADeadCollectorHoldsNothingUpAndSaysOnceWhatWaits) {
  config_.standard.otlp_traces.endpoint = "http://127.0.0.1:" + std::to_string(free_port());
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  const auto begin = std::chrono::steady_clock::now();
  telemetry.shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s) << "of the five that it has";
  EXPECT_THAT(said(), ElementsAre(HasSubstr("cannot reach"), HasSubstr("100 spans wait in " + config_.spool_dir)));
}

TEST_F(DefaultExporter, ABlackHoleCostsTheDeadlineAndNoMore) {
  const BlackHole black_hole;
  config_.standard.otlp_traces.endpoint = "http://127.0.0.1:" + std::to_string(black_hole.port());
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  EXPECT_FALSE(telemetry.force_flush(50ms));
  const auto begin = std::chrono::steady_clock::now();
  telemetry.shutdown(600ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 700ms);
  EXPECT_THAT(said(), ElementsAre(HasSubstr("100 spans wait in " + config_.spool_dir)));
}

TEST_F(DefaultExporter, ShutdownNamesWhatWasLostAndWhy) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(400, "no such tenant", "Content-Type: text/plain\r\n"); });
  config_.standard.otlp_traces.endpoint = peer.url();
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  telemetry.shutdown();
  const std::string failure = peer.url() + "/v1/traces answered 400: no such tenant";
  EXPECT_THAT(said(),
              ElementsAre(failure, "telemetry lost 100 of 100 spans: 100 (the collector answered 400); " + failure));
}

TEST_F(DefaultExporter, AMalformedEndpointIsReportedAndDoesNotStopTheJob) {
  config_.standard.otlp_traces.endpoint = "http://collector:port";
  auto telemetry = setup_telemetry(config_, Rank{});
  EXPECT_TRUE(telemetry.is_exporting());
  EXPECT_THAT(said(), ElementsAre(HasSubstr("\"http://collector:port\" is not an OTLP endpoint")));
}

TEST_F(DefaultExporter, ABatchHoldsNoMoreSpansThanItMay) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  config_.standard.span_batch.max_export_batch_size = 30;
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  telemetry.shutdown();
  std::size_t spans = 0;
  for (const HttpRequest& request : peer.requests()) {
    EXPECT_LE(spans_in(request.body).size(), 30u);
    spans += spans_in(request.body).size();
  }
  EXPECT_EQ(spans, 100u);
}

}  // namespace
}  // namespace lens::tests
