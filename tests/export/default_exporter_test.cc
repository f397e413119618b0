// SPDX-License-Identifier: Apache-2.0
// The exporter that telemetry has unless it is told otherwise, from set-up to shutdown.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <deque>
#include <filesystem>
#include <set>

#include "lens/lens.h"
#include "src/otlp/request.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/kill/child.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::UnorderedElementsAre;

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
  void send_metrics_too(const std::string& url) {
    config_.metrics_enabled = true;
    config_.standard.otlp_traces.endpoint = config_.standard.otlp_metrics.endpoint = url;
    config_.standard.otlp_metrics.protocol = OtlpProtocol::http_protobuf;
  }

  TemporaryDirectory directory_;
  Config config_;
  std::mutex mutex_;
  std::vector<std::string> said_;
};

// Contract: C3
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

// Contract: 7.no-empty
TEST_F(DefaultExporter, SendsNothingWhereNothingWasRecorded) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  auto telemetry = setup_telemetry(config_, Rank{});
  EXPECT_TRUE(telemetry.force_flush());
  telemetry.shutdown();
  EXPECT_EQ(peer.connections(), 0);
}

// Contract: 7.request-size, C9
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

// Contract: 2.batches
TEST_F(DefaultExporter, ABatchThatHoldsAsMuchAsTheQueueIsFull) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  config_.standard.span_batch.schedule_delay = std::chrono::hours(1);
  config_.standard.span_batch.max_queue_size = 10;
  auto telemetry = setup_telemetry(config_, Rank{});
  record(15);
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (telemetry.counters().spans_exported == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  ASSERT_EQ(peer.requests().size(), 1u);
  EXPECT_EQ(spans_in(peer.requests()[0].body).size(), 10u);
}

// Contract: C18
TEST_F(DefaultExporter, WhatWaitsWithoutASpoolIsDroppedAtTheExportTimeout) {
  HttpPeer busy([](int, const HttpRequest&) { return answer(503); });
  config_.standard.otlp_traces.endpoint = busy.url();
  config_.spool_size_bytes = 0;
  config_.standard.span_batch.schedule_delay = 10ms;
  config_.standard.span_batch.export_timeout = 300ms;
  auto telemetry = setup_telemetry(config_, Rank{});
  record(5);
  const auto end = std::chrono::steady_clock::now() + 10s;  // a third of the default
  while (telemetry.counters().spans_dropped < 5 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(telemetry.counters().spans_dropped, 5u);
}

// Contract: C6
TEST_F(DefaultExporter, RanksDoNotComeBackAsOne) {
  using std::chrono::steady_clock;
  constexpr int ranks = 4;
  std::vector<steady_clock::duration> pauses(ranks);
  std::deque<steady_clock::time_point> failed(ranks);
  std::deque<HttpPeer> busy;
  for (int rank = 0; rank < ranks; ++rank)
    busy.emplace_back([&, rank](int number, const HttpRequest&) {
      const auto now = steady_clock::now();
      if (number == 0) failed[rank] = now;
      if (number == 1) pauses[rank] = now - failed[rank];
      return answer(number == 0 ? 503 : 200);
    });
  std::deque<Child> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.emplace_back([&, rank] {
      config_.export_strategy = "all_ranks";
      config_.spool_size_bytes = 0;  // or one sends another's
      config_.standard.span_batch.schedule_delay = 10ms;
      config_.standard.otlp_traces.endpoint = busy[rank].url();
      auto telemetry = setup_telemetry(config_, {.rank = rank, .world_size = ranks});
      record(1);
      const auto end = steady_clock::now() + 10s;  // a flush would ask at once
      while (telemetry.counters().spans_exported == 0 && steady_clock::now() < end) std::this_thread::yield();
      telemetry.shutdown();
      _exit(0);  // without a look for leaks: what tests before this one recorded into is the parent's
    });
  for (Child& child : children) EXPECT_EQ(child.wait(), 0);
  // Half a second to one and a half each; that four draw the same within a twentieth is one chance in two thousand.
  const auto [shortest, longest] = std::ranges::minmax(pauses);
  EXPECT_GE(shortest, 450ms);
  EXPECT_GT(longest - shortest, 50ms);
}

// Contract: 2.batches, D44
TEST_F(DefaultExporter, WhatTheQueueHasNoRoomForIsDroppedWithoutASpool) {
  HttpPeer silent([](int, const HttpRequest&) { return hang(); });
  config_.standard.otlp_traces.endpoint = silent.url();
  config_.standard.span_batch.max_queue_size = 10;
  config_.spool_size_bytes = 0;
  config_.shutdown_timeout = 200ms;
  auto telemetry = setup_telemetry(config_, Rank{});
  record(105);
  const auto end = std::chrono::steady_clock::now() + 10s;
  const auto counted = [&] {  // a span is recorded before it is dropped
    return telemetry.counters().spans_recorded >= 105 && telemetry.counters().spans_dropped >= 90;
  };
  while (!counted() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(telemetry.counters().spans_dropped, 90u) << "10 wait for their answer, 5 for their batch to be full";
}

// Contract: 2.batches
TEST_F(DefaultExporter, ABatchOfLogRecordsThatHoldsAsMuchAsTheQueueIsFull) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  config_.traces_enabled = false;
  config_.logs_enabled = true;
  config_.standard.otlp_logs.endpoint = peer.url();
  config_.standard.otlp_logs.protocol = OtlpProtocol::http_protobuf;
  config_.standard.log_batch.schedule_delay = std::chrono::hours(1);
  config_.standard.log_batch.max_queue_size = 10;
  auto telemetry = setup_telemetry(config_, Rank{});
  for (int i = 0; i < 15; ++i) log(Severity::info, "a line");
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (peer.requests().empty() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  ASSERT_EQ(peer.requests().size(), 1u);
  EXPECT_EQ(otlp::item_count(peer.requests()[0].body), 10u);
}

TEST_F(DefaultExporter, BatchesGrowWhileTheCollectorKeepsFourWaiting) {
  std::atomic<bool> silent{true};
  HttpPeer peer([&](int, const HttpRequest&) { return silent ? hang() : answer(200); });
  config_.standard.otlp_traces.endpoint = peer.url();
  config_.standard.otlp_traces.timeout = 2s;
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

/// Of this process, to that port.
int connections_to(int port) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    sockaddr_in peer{};
    socklen_t bytes = sizeof peer;
    const int file = std::stoi(entry.path().filename());
    if (getpeername(file, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 && ntohs(peer.sin_port) == port) ++count;
  }
  return count;
}

// Contract: C10
TEST_F(DefaultExporter, AForkedChildKeepsNoConnectionOfItsParentsOpen) {
  HttpPeer peer(accept_all);
  config_.standard.otlp_traces.endpoint = peer.url();
  auto telemetry = setup_telemetry(config_, Rank{});
  record(1);
  EXPECT_TRUE(telemetry.force_flush());
  EXPECT_EQ(connections_to(peer.port()), 1);
  Child child([&] {
    const int kept = connections_to(peer.port());
    _exit(kept);  // without what the parent would do at its end
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(connections_to(peer.port()), 1);
  record(1);
  EXPECT_TRUE(telemetry.force_flush());
  EXPECT_EQ(peer.connections(), 1) << "the parent goes on by its own";
}

// Contract: C10, C3
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
  EXPECT_THAT(names, UnorderedElementsAre("before", "parents", "childs"));
  EXPECT_EQ(peer.connections(), 2) << "one each";
}

// Contract: C2
TEST_F(DefaultExporter, ADeadCollectorHoldsNothingUpAndSaysOnceWhatWaits) {
  config_.standard.otlp_traces.endpoint = "http://127.0.0.1:" + std::to_string(free_port());
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  const auto begin = std::chrono::steady_clock::now();
  telemetry.shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s) << "of the five that it has";
  EXPECT_THAT(said(), ElementsAre(HasSubstr("cannot reach"), HasSubstr("100 spans wait in " + config_.spool_dir)));
}

// Contract: 7.wrong-protocol
TEST_F(DefaultExporter, AWrongProtocolIsOneWarningForAllSignals) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(400); });
  config_.metrics_enabled = true;
  for (OtlpConfig* otlp : {&config_.standard.otlp_traces, &config_.standard.otlp_metrics}) {
    otlp->endpoint = peer.url();
    otlp->protocol = OtlpProtocol::grpc;
  }
  auto telemetry = setup_telemetry(config_, Rank{});
  for (int i = 0; i < 3; ++i) {
    record(1);
    EXPECT_TRUE(telemetry.force_flush());
  }
  EXPECT_GE(peer.connections(), 2) << "one of each signal";
  EXPECT_THAT(said(), ElementsAre(HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")));
  telemetry.shutdown();
}

// Contract: 7.one-warning
TEST_F(DefaultExporter, AnAnswerOfTheServersIsOneWarningForAllSignals) {
  for (const int status : {401, 503}) {
    SCOPED_TRACE(status);
    said_.clear();
    HttpPeer peer([status](int, const HttpRequest&) { return answer(status); });
    config_.metrics_enabled = config_.logs_enabled = true;
    for (OtlpConfig* otlp :
         {&config_.standard.otlp_traces, &config_.standard.otlp_metrics, &config_.standard.otlp_logs}) {
      otlp->endpoint = peer.url();
      otlp->protocol = OtlpProtocol::http_protobuf;
    }
    config_.spool_dir = directory_.path() / std::to_string(status);
    auto telemetry = setup_telemetry(config_, Rank{});
    for (int i = 0; i < 3; ++i) {
      record(1);
      log(Severity::info, "a line");
      EXPECT_TRUE(telemetry.force_flush());
    }
    std::set<std::string> asked;
    for (const HttpRequest& request : peer.requests()) asked.insert(request.path);
    EXPECT_THAT(asked, ElementsAre("/v1/logs", "/v1/metrics", "/v1/traces"));
    const auto is_of_loss = [](const std::string& line) { return line.find(" lost: ") != std::string::npos; };
    auto lines = said();
    EXPECT_EQ(std::erase_if(lines, is_of_loss), status == 401 ? 2u : 0u) << "each of the other signals loses";
    EXPECT_THAT(lines, ElementsAre(HasSubstr("answered " + std::to_string(status))));
    if (status == 401) {
      EXPECT_EQ(lines[0], peer.url() + " answered 401; OTEL_EXPORTER_OTLP_HEADERS holds the credentials");
    }
    telemetry.shutdown();
  }
}

/// Answers metrics with `status`, and spans when it is told to.
struct MetricsFailFirst {
  explicit MetricsFailFirst(int status)
      : peer([this, status](int, const HttpRequest& request) {
          return answer(request.path == "/v1/metrics" || spans_too ? status : 200);
        }) {}

  std::atomic<bool> spans_too{false};
  HttpPeer peer;
};

// Contract: 7.one-warning
TEST_F(DefaultExporter, APathThatIsWrongIsSaidOfEachSignalAlsoOfOneThatComesLater) {
  MetricsFailFirst collector(404);
  send_metrics_too(collector.peer.url());
  auto telemetry = setup_telemetry(config_, Rank{});
  record(1);
  EXPECT_TRUE(telemetry.force_flush());
  EXPECT_THAT(said(), ElementsAre(HasSubstr("/v1/metrics answered 404")));
  collector.spans_too = true;
  for (int i = 0; i < 3; ++i) {
    record(1);
    EXPECT_TRUE(telemetry.force_flush());
  }
  EXPECT_THAT(said(), ElementsAre(HasSubstr("/v1/metrics answered 404"), HasSubstr("/v1/traces answered 404")));
  telemetry.shutdown();
}

// Contract: 7.one-warning
TEST_F(DefaultExporter, SpansThatAreLostForWhatAnotherSignalHasSaidAreToldWithTheirNumber) {
  MetricsFailFirst collector(401);
  send_metrics_too(collector.peer.url());
  auto telemetry = setup_telemetry(config_, Rank{});
  record(1);
  EXPECT_TRUE(telemetry.force_flush());
  collector.spans_too = true;
  for (int i = 0; i < 3; ++i) {
    record(7);
    EXPECT_TRUE(telemetry.force_flush());
  }
  const std::string refusal = collector.peer.url() + " answered 401; OTEL_EXPORTER_OTLP_HEADERS holds the credentials";
  EXPECT_THAT(said(), ElementsAre(refusal, "7 spans are lost: " + refusal));
  telemetry.shutdown();
}

// Contract: 7.one-warning
TEST_F(DefaultExporter, WhatTheServerFindsWrongWithASignalIsSaidOfEach) {
  HttpPeer peer([](int, const HttpRequest& request) {
    return answer(400, "bad " + request.path, "Content-Type: text/plain\r\n");
  });
  send_metrics_too(peer.url());
  auto telemetry = setup_telemetry(config_, Rank{});
  for (int i = 0; i < 3; ++i) {
    record(1);
    EXPECT_TRUE(telemetry.force_flush());
  }
  EXPECT_THAT(said(), UnorderedElementsAre(HasSubstr("bad /v1/traces"), HasSubstr("bad /v1/metrics")));
  telemetry.shutdown();
}

// Contract: 3.deadline, C2, C3
TEST_F(DefaultExporter, ABlackHoleCostsTheDeadlineAndNoMore) {
  const BlackHole black_hole;
  config_.standard.otlp_traces.endpoint = "http://127.0.0.1:" + std::to_string(black_hole.port());
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  EXPECT_FALSE(telemetry.force_flush(50ms));
  const auto begin = std::chrono::steady_clock::now();
  telemetry.shutdown(2s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "a request has ten";
  EXPECT_THAT(said(),
              ElementsAre(MatchesRegex("100 spans wait in " + config_.spool_dir + " to be sent: no connection to " +
                                       config_.standard.otlp_traces.endpoint + " in [0-9.]+ m?s")));
}

TEST_F(DefaultExporter, ACollectorThatDoesNotAnswerIsNamedAsTheCauseOfALoss) {
  HttpPeer silent([](int, const HttpRequest&) { return hang(); });
  config_.standard.otlp_traces.endpoint = silent.url();
  config_.spool_size_bytes = 0;
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  telemetry.shutdown(2s);
  EXPECT_THAT(said(), ElementsAre(MatchesRegex("telemetry lost 100 of 100 spans: 100 .no time was left at shutdown.; "
                                               "no answer from " +
                                               silent.url() + " in [0-9.]+ s")));
}

TEST_F(DefaultExporter, ACollectorThatAnswersSlowlyIsNotTakenForOneThatDoesNot) {
  HttpPeer slow([](int, const HttpRequest&) {
    std::this_thread::sleep_for(300ms);  // one after the other
    return answer(200);
  });
  config_.standard.otlp_traces.endpoint = slow.url();
  config_.standard.span_batch.max_export_batch_size = 10;
  auto telemetry = setup_telemetry(config_, Rank{});
  record(2'000);
  telemetry.shutdown(2s);
  EXPECT_THAT(said(), ElementsAre(AllOf(HasSubstr("spans wait in "), EndsWith(": the time for shutdown ended while " +
                                                                              slow.url() + " was answering"))));
}

TEST_F(DefaultExporter, AProxyThatHangsIsNamedInTheLastLine) {
  HttpPeer hanging([](int, const HttpRequest&) { return hang(); });
  for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::grpc}) {
    said_.clear();
    test::Environment environment;
    environment.set("http_proxy", hanging.url().c_str());
    environment.set("no_proxy", "");
    config_.standard.otlp_traces.endpoint = "http://127.0.0.1:9";
    config_.standard.otlp_traces.protocol = protocol;
    auto telemetry = setup_telemetry(config_, Rank{});
    record(100);
    telemetry.shutdown(3s);
    EXPECT_THAT(said(),
                ElementsAre(MatchesRegex(".* spans wait in .*: no (answer from|connection to) http://127.0.0.1:9 in "
                                         "[0-9.]+ s; it went through the proxy " +
                                         hanging.url() + " .http_proxy.")));
  }
}

TEST_F(DefaultExporter, WhatIsKnownToBeWrongIsTheCauseThoughTheLastRequestWasNotAnswered) {
  HttpPeer busy([](int number, const HttpRequest&) { return number == 0 ? answer(503) : hang(); });
  config_.standard.otlp_traces.endpoint = busy.url();
  auto telemetry = setup_telemetry(config_, Rank{});
  record(100);
  EXPECT_TRUE(telemetry.force_flush());
  telemetry.shutdown(2s);
  EXPECT_EQ(busy.requests().size(), 2u);
  EXPECT_THAT(said(), ElementsAre(HasSubstr("answered 503"), EndsWith(": " + busy.url() + " answered 503")));
}

// Contract: 7.counters
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
