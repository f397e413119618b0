// SPDX-License-Identifier: Apache-2.0
// Where log records go: the console, files, and a collector by the variables of their own signal.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "src/otlp/json.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/flow/recorded_logs.h"
#include "tests/support/environment.h"

namespace lens::tests {
namespace {

using nlohmann::json;

Config config_from(std::initializer_list<std::pair<const char*, std::string>> variables) {
  test::Environment environment{{"NEMO_LENS_ENABLED", "1"},         {"NEMO_LENS_LOGS_ENABLED", "1"},
                                {"NEMO_LENS_SHM_DIR", ""},          {"NEMO_LENS_SPOOL_SIZE", "0"},
                                {"NEMO_LENS_METRICS_ENABLED", "0"}, {"NEMO_LENS_RUN_ID", "test"}};
  for (const auto& [name, value] : variables) environment.set(name, value.c_str());
  Config config = Config::from_env();
  config.on_error = [](std::string_view line) { ADD_FAILURE() << "background failure: " << line; };
  return config;
}

/// The bodies of the log records that came by `path`.
std::vector<std::string> bodies_at(const HttpPeer& peer, const std::string& path) {
  std::vector<std::string> bodies;
  for (const HttpRequest& request : peer.requests()) {
    if (request.path != path) continue;
    std::string line = request.body;
    if (!line.starts_with('{')) {
      line.clear();
      otlp::append_json(line, Signal::logs, request.body);
    }
    const json parsed = json::parse(line);
    for (const json& record : parsed.at("resourceLogs")[0].at("scopeLogs")[0].at("logRecords"))
      bodies.push_back(body_of(record));
  }
  return bodies;
}

// Contract: 6.logs-console, L18
TEST(LogsExport, ToTheConsoleIsOneLineARecordThatNamesItsSignal) {
  TemporaryDirectory directory;
  const int status = run_in_child([&] {
    const int file = open((directory.path() / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
    Config config = logging_config(directory.path() / "unused");
    config.exporter = "console";
    config.metrics_enabled = false;
    auto telemetry = setup_telemetry(config, {});
    log(Severity::info, "one\nof two lines");
    log(Severity::warn, "two");
  });
  ASSERT_EQ(status, 0);
  std::istringstream lines(directory.read("out"));
  std::vector<std::string> bodies;
  for (std::string line; std::getline(lines, line);) {
    const json parsed = json::parse(line);
    EXPECT_EQ(parsed.at("signal"), "logs");
    const json& records = parsed.at("resourceLogs")[0].at("scopeLogs")[0].at("logRecords");
    EXPECT_EQ(records.size(), 1u);
    bodies.push_back(body_of(records[0]));
  }
  EXPECT_THAT(bodies, testing::ElementsAre("one\nof two lines", "two"));
}

TEST(LogsExport, ToFilesIsAFileOfTheirOwnInEitherForm) {
  for (const char* form : {"proto", "json"}) {
    const RecordedLogs logs =
        record_logs([] { log(Severity::info, "kept"); }, [&](Config& config) { config.file_format = form; });
    ASSERT_EQ(logs.files.size(), 1u);
    EXPECT_TRUE(logs.files[0].filename().string().starts_with("logs-rank0-"));
    logs.only("kept");
    EXPECT_EQ(logs.trace.files.size(), 1u);
  }
}

// Contract: 6.logs-otlp, D17, D18
TEST(LogsExport, FollowsTheGeneralVariables) {
  for (const char* protocol : {"http/protobuf", "http/json"}) {
    HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
    const Config config =
        config_from({{"OTEL_EXPORTER_OTLP_ENDPOINT", peer.url()}, {"OTEL_EXPORTER_OTLP_PROTOCOL", protocol}});
    {
      auto telemetry = setup_telemetry(config, {});
      log(Severity::info, "general");
    }
    EXPECT_THAT(bodies_at(peer, "/v1/logs"), testing::ElementsAre("general"));
  }
}

// Contract: 6.logs-otlp, D17
TEST(LogsExport, FollowsTheVariablesOfItsSignalBeforeTheGeneralOnes) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  const Config config = config_from({{"NEMO_LENS_TRACES_ENABLED", "0"},
                                     {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"},
                                     {"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/protobuf"},
                                     {"OTEL_EXPORTER_OTLP_LOGS_HEADERS", "x-tenant=blue"},
                                     {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", peer.url() + "/mine"}});
  {
    auto telemetry = setup_telemetry(config, {});
    log(Severity::info, "own");
  }
  EXPECT_THAT(bodies_at(peer, "/mine"), testing::ElementsAre("own"));
  EXPECT_EQ(peer.requests().at(0).headers.at("x-tenant"), "blue");
}

// Contract: 6.logs-otlp
TEST(LogsExport, IsTriedAgain) {
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 0 ? 503 : 200); });
  Config config = config_from({{"NEMO_LENS_TRACES_ENABLED", "0"},
                               {"OTEL_EXPORTER_OTLP_ENDPOINT", peer.url()},
                               {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}});
  config.on_error = {};
  config.shutdown_timeout = std::chrono::seconds(60);
  {
    auto telemetry = setup_telemetry(config, {});
    log(Severity::info, "again");
  }
  EXPECT_THAT(bodies_at(peer, "/v1/logs"), testing::ElementsAre("again", "again"));
}

// Contract: 6.logs-deadline, D24
TEST(LogsExport, ToACollectorThatNeverAnswersOrIsNotThereKeepsTheOneDeadline) {
  HttpPeer silent([](int, const HttpRequest&) { return hang(); });
  const BlackHole black_hole;
  const std::string loopback = "http://127.0.0.1:";
  for (const std::string& url :
       {silent.url(), loopback + std::to_string(black_hole.port()), loopback + std::to_string(free_port())}) {
    SCOPED_TRACE(url);
    Config config = config_from({{"OTEL_EXPORTER_OTLP_ENDPOINT", url},
                                 {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                                 {"NEMO_LENS_METRICS_ENABLED", "1"}});
    std::vector<std::string> said;
    config.on_error = [&](std::string_view line) { said.emplace_back(line); };
    config.shutdown_timeout = std::chrono::seconds(2);
    auto telemetry = setup_telemetry(config, {});
    { auto job = managed_span(SpanGroup::job, "job"); }
    log(Severity::info, "unheard");
    const auto began = std::chrono::steady_clock::now();
    telemetry.shutdown();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4)) << "a request has ten";
    EXPECT_THAT(said, testing::Contains(testing::HasSubstr("lost 1 of 1 log records")));
    EXPECT_THAT(said, testing::Contains(testing::HasSubstr("lost 1 of 1 spans")));
  }
}

}  // namespace
}  // namespace lens::tests
