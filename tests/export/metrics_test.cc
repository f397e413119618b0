// SPDX-License-Identifier: Apache-2.0
// Metrics on their way to a collector: their own endpoint, one attempt each, and what the counts of an exporter say.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "lens/lens.h"
#include "src/otlp/metric_encoder.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string two_points() {
  const std::vector<model::Metric> metrics = {{.name = "a", .numbers = {{{}, 1}, {{}, 2}}}};
  return otlp::encoded_metrics(metrics, 1, 2);
}

exporting::OtlpExporterOptions metrics_to(const HttpPeer& peer, OtlpProtocol protocol = OtlpProtocol::http_protobuf) {
  auto options = options_for(protocol, peer.url());
  options.signal = Signal::metrics;
  options.one_attempt = true;
  return options;
}

TEST(MetricExport, GoesToThePathOfMetrics) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  ExporterUnderTest exporter(metrics_to(peer, OtlpProtocol::http_json));
  exporter.take(two_points(), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 2u);
  ASSERT_EQ(peer.requests().size(), 1u);
  EXPECT_EQ(peer.requests()[0].path, "/v1/metrics");
  const auto body = nlohmann::json::parse(peer.requests()[0].body);
  EXPECT_EQ(body.at("resourceMetrics")[0].at("scopeMetrics")[0].at("metrics")[0].at("name"), "a");
  const auto identity = (*exporter).identity();
  EXPECT_EQ(identity.type, "otlp_http_json_metric_exporter");
  EXPECT_EQ(identity.server_address, "127.0.0.1");
  EXPECT_EQ(identity.server_port, peer.port());
}

TEST(MetricExport, IsNotTriedAgain) {
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 0 ? 503 : 200); });
  ExporterUnderTest exporter(metrics_to(peer));
  exporter.take(two_points(), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_THAT((*exporter).counts().lost, ElementsAre(Pair("503", 2)));
  ASSERT_TRUE(exporter.until([&] {  // the next goes when the pause is over
    exporter.take(two_points(), 2);
    return exporter.exported() > 0;
  }));
}

// Contract: C7
TEST(MetricExport, CountsRejectedDataPoints) {
  HttpPeer peer([](int, const HttpRequest&) {
    return answer(200, R"({"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"old"}})",
                  "Content-Type: application/json\r\n");
  });
  ExporterUnderTest exporter(metrics_to(peer, OtlpProtocol::http_json));
  exporter.take(two_points(), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 1u);
  EXPECT_THAT((*exporter).counts().lost, ElementsAre(Pair("rejected", 1)));
  EXPECT_THAT(exporter.said(), HasSubstr("the collector rejected 1 data point: old"));
}

// Contract: C24
TEST(ExportCounts, NameTheCauseAndTheDurationOfEachEnd) {
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 0 ? 400 : number == 1 ? 503 : 200); });
  ExporterUnderTest exporter(options_for(OtlpProtocol::http_protobuf, peer.url()));
  exporter.take(spans_of("a", 0, 3), 3);
  ASSERT_TRUE(exporter.until_flushed());
  exporter.take(spans_of("b", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  const exporting::ExportCounts& counts = (*exporter).counts();
  EXPECT_EQ(counts.exported, 5u);
  EXPECT_THAT(counts.lost, ElementsAre(Pair("400", 3)));
  EXPECT_EQ(counts.retries, 1u);
  ASSERT_EQ(counts.durations.size(), 2u) << "one that failed, and one that was delivered in two attempts";
  EXPECT_EQ(counts.durations.at("").count(), 1u);
  EXPECT_GE(counts.durations.at("").sum(), 0.005) << "with the pause between";
  EXPECT_EQ(counts.durations.at("400").count(), 1u);
}

// ---- from set-up to shutdown

class DefaultMetrics : public testing::Test {
 protected:
  DefaultMetrics() {
    setenv("no_proxy", "*", 1);
    config_.enabled = true;
    config_.span_groups = "all";
    config_.spool_dir = directory_.path() / "spool";
    config_.on_error = [this](std::string_view line) { said_.emplace_back(line); };
    for (OtlpConfig* otlp : {&config_.standard.otlp_traces, &config_.standard.otlp_metrics})
      otlp->protocol = OtlpProtocol::http_json;
  }

  TemporaryDirectory directory_;
  Config config_;
  std::vector<std::string> said_;  // by the pipeline's thread, which has ended when this is read
};

TEST_F(DefaultMetrics, HaveAnEndpointOfTheirOwn) {
  HttpPeer traces([](int, const HttpRequest&) { return answer(200); });
  HttpPeer metrics([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = traces.url();
  config_.standard.otlp_metrics.endpoint = metrics.url() + "/mine";
  config_.standard.otlp_metrics.endpoint_is_full = true;
  auto telemetry = setup_telemetry(config_, Rank{});
  { auto span = managed_span(SpanGroup::step, "step"); }
  EXPECT_TRUE(telemetry.force_flush());
  ASSERT_EQ(metrics.requests().size(), 1u) << "a flush waits for them";
  EXPECT_EQ(metrics.requests()[0].path, "/mine");
  telemetry.shutdown();
  EXPECT_EQ(metrics.requests().size(), 2u);
  EXPECT_EQ(traces.requests().size(), 1u);
  EXPECT_THAT(said_, ElementsAre());
}

TEST_F(DefaultMetrics, KeepTheOneLimitThatIsSet) {
  HttpPeer traces([](int, const HttpRequest&) { return answer(200); });
  HttpPeer metrics([](int, const HttpRequest&) { return hang(); });
  config_.standard.otlp_traces.endpoint = traces.url();
  config_.standard.otlp_metrics.endpoint = metrics.url();
  for (const auto& [of_request, of_export] : {std::pair{0ms, 200ms}, std::pair{200ms, 0ms}}) {
    config_.standard.otlp_metrics.timeout = of_request;
    config_.standard.metric_export_timeout = of_export;
    auto telemetry = setup_telemetry(config_, Rank{});
    { auto span = managed_span(SpanGroup::step, "step"); }
    EXPECT_TRUE(telemetry.force_flush()) << "0 is no limit, not the smaller one";
    telemetry.shutdown();
  }
}

TEST_F(DefaultMetrics, ThatNobodyTakesHoldNothingUp) {
  HttpPeer traces([](int, const HttpRequest&) { return answer(200); });
  config_.standard.otlp_traces.endpoint = traces.url();
  config_.standard.otlp_metrics.endpoint = "http://127.0.0.1:" + std::to_string(free_port());
  auto telemetry = setup_telemetry(config_, Rank{});
  { auto span = managed_span(SpanGroup::step, "step"); }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(telemetry.force_flush());
  telemetry.shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s) << "of the ten that both have";
  EXPECT_EQ(telemetry.counters().spans_dropped, 0u);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("cannot reach")));
}

// Contract: 3.deadline, D24
TEST_F(DefaultMetrics, LeaveTheDeadlineAlone) {
  HttpPeer traces([](int, const HttpRequest&) { return answer(200); });
  const BlackHole black_hole;
  config_.standard.otlp_traces.endpoint = traces.url();
  config_.standard.otlp_metrics.endpoint = "http://127.0.0.1:" + std::to_string(black_hole.port());
  auto telemetry = setup_telemetry(config_, Rank{});
  { auto span = managed_span(SpanGroup::step, "step"); }
  const auto begin = std::chrono::steady_clock::now();
  telemetry.shutdown(2s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "a request has ten";
  EXPECT_EQ(traces.requests().size(), 1u);
}

}  // namespace
}  // namespace lens::tests
