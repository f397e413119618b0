// SPDX-License-Identifier: Apache-2.0
// Log records through the OpenTelemetry Collector, by each way: what goes in comes out.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "lens/lens.h"
#include "tests/interop/receiver.h"
#include "tests/interop/sample.h"
#include "tests/interop/ways.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
using nlohmann::json;

/// What the collector's file exporter wrote of them.
std::vector<json> records_in(const std::filesystem::path& file) {
  std::vector<json> records;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const json request = json::parse(line);
    for (const json& resource : request.at("resourceLogs"))
      for (const json& record : resource.at("scopeLogs")[0].at("logRecords")) records.push_back(record);
  }
  return records;
}

class Logs : public testing::TestWithParam<Way> {};

// Contract: 6.logs-interop
TEST_P(Logs, ComeOutOfTheCollectorAsTheyWentIn) {
  const auto program = find_peer("otelcol");
  if (!program) GTEST_SKIP() << "otelcol is not installed: scripts/interop-setup";
  Collector collector(*program);
  Config config = sending_config(GetParam(), collector.endpoint(GetParam().protocol));
  config.logs_enabled = true;
  config.standard.otlp_logs = config.standard.otlp_traces;
  auto telemetry = setup_telemetry(config, {});
  const std::string body = "loss is \"NaN\"\n\té 漢 🦙";
  const auto happened = SystemTime(std::chrono::nanoseconds(1'700'000'000'123'456'789));
  SpanContext step_context;
  {
    auto step = managed_span(SpanGroup::step, "step");
    step_context = step.context();
    log(Severity::error, body, happened, "iteration"_a = 7, "ok"_a = false, "lr"_a = 1e-5, "name"_a = "a\0b",
        "sizes"_a = std::vector<std::int64_t>{1, -2});
  }
  log(Severity::trace, "outside");
  telemetry.shutdown();
  collector.stop();

  const std::vector<json> records = records_in(collector.logs_file());
  ASSERT_EQ(records.size(), 2u);
  json expected = json::parse(R"({"timeUnixNano":"1700000000123456789","severityNumber":17,"severityText":"ERROR",
      "attributes":[{"key":"iteration","value":{"intValue":"7"}},{"key":"ok","value":{"boolValue":false}},
                    {"key":"lr","value":{"doubleValue":1e-5}},{"key":"name","value":{"stringValue":"a"}},
                    {"key":"sizes","value":{"arrayValue":{"values":[{"intValue":"1"},{"intValue":"-2"}]}}}],
      "flags":3})");
  expected["body"] = {{"stringValue", body}};
  expected["traceId"] = step_context.trace_id.hex();
  expected["spanId"] = step_context.span_id.hex();
  json found = records[0];
  EXPECT_GT(found.value("observedTimeUnixNano", ""), "17");
  found.erase("observedTimeUnixNano");
  EXPECT_EQ(found, expected);
  EXPECT_EQ(records[1].at("body").at("stringValue"), "outside");
  EXPECT_EQ(records[1].value("spanId", ""), "");
  EXPECT_EQ(records[1].at("severityNumber"), 1);
}

INSTANTIATE_TEST_SUITE_P(By, Logs, testing::ValuesIn(all_ways()), [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace lens::tests
