// SPDX-License-Identifier: Apache-2.0
// A collector that stays away: log records wait on disk beside the spans, for the next process of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/otlp/json.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/flow/recorded_logs.h"

namespace lens::tests {
namespace {

using nlohmann::json;

class LogsInTheSpool : public testing::Test {
 protected:
  LogsInTheSpool() { setenv("no_proxy", "*", 1); }

  /// What is said goes to `said`.
  Config config() {
    Config config = logging_config(directory.path());
    config.exporter = "otlp";
    config.spool_dir = directory.path() / "spool";
    config.run_id = "run1";
    config.metrics_enabled = false;
    for (OtlpConfig* otlp : {&config.standard.otlp_traces, &config.standard.otlp_logs}) {
      otlp->endpoint = "http://127.0.0.1:" + std::to_string(port);
      otlp->protocol = OtlpProtocol::http_protobuf;
    }
    config.on_error = [this](std::string_view line) { said.emplace_back(line); };
    return config;
  }
  std::vector<std::string> spooled() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "spool", none))
      names.push_back(entry.path().filename().string());
    return names;
  }

  TemporaryDirectory directory;
  int port = free_port();
  std::vector<std::string> said;
};

std::vector<std::string> bodies_in(const HttpRequest& request) {
  std::string line;
  otlp::append_json(line, Signal::logs, request.body);
  std::vector<std::string> bodies;
  const json parsed = json::parse(line);
  for (const json& resource : parsed.at("resourceLogs"))
    for (const json& record : resource.at("scopeLogs")[0].at("logRecords")) bodies.push_back(body_of(record));
  return bodies;
}

// Contract: 7.spool, 6.logs-spool
TEST_F(LogsInTheSpool, AreSentByTheNextProcessOfTheRunToTheEndpointOfLogs) {
  {
    auto telemetry = setup_telemetry(config(), {});
    { auto step = managed_span(SpanGroup::step, "step"); }
    log(Severity::info, "one");
    telemetry.force_flush(std::chrono::seconds(60));
    log(Severity::info, "two");
  }
  EXPECT_THAT(said, testing::Contains(testing::HasSubstr("2 log records wait in " + directory.path().string())));
  EXPECT_THAT(said, testing::Contains(testing::HasSubstr("1 span waits in")));
  EXPECT_THAT(said, testing::Not(testing::Contains(testing::HasSubstr("lost"))));
  EXPECT_THAT(spooled(), testing::Contains(testing::StartsWith("logs-")));

  HttpPeer peer([](int, const HttpRequest&) { return answer(200); }, port);
  {
    auto telemetry = setup_telemetry(config(), {});
    log(Severity::info, "three");
  }
  EXPECT_THAT(spooled(), testing::IsEmpty());
  std::vector<std::string> bodies;
  std::size_t of_spans = 0;
  for (const HttpRequest& request : peer.requests()) {
    if (request.path == "/v1/traces" && ++of_spans) continue;
    EXPECT_EQ(request.path, "/v1/logs");
    for (const std::string& body : bodies_in(request)) bodies.push_back(body);
  }
  EXPECT_THAT(bodies, testing::UnorderedElementsAre("one", "two", "three"));
  EXPECT_EQ(of_spans, 1u);
}

TEST_F(LogsInTheSpool, AreLeftThereByAnotherRun) {
  {
    auto telemetry = setup_telemetry(config(), {});
    log(Severity::info, "of run1");
  }
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); }, port);
  {
    Config other = config();
    other.run_id = "run2";
    auto telemetry = setup_telemetry(other, {});
    log(Severity::info, "of run2");
  }
  ASSERT_EQ(peer.requests().size(), 1u);
  EXPECT_THAT(bodies_in(peer.requests()[0]), testing::ElementsAre("of run2"));
  EXPECT_EQ(spooled().size(), 1u);
}

}  // namespace
}  // namespace lens::tests
