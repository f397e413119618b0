// SPDX-License-Identifier: Apache-2.0
#include "tests/flow/recorded_logs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/otlp/json.h"
#include "tools/trace/trace.h"
#include "tools/trace/trace_file.h"

namespace lens::tests {

using nlohmann::json;

const json& RecordedLogs::only(const std::string& body) const {
  static const json none;
  const auto count = std::ranges::count(records, body, body_of);
  EXPECT_EQ(count, 1) << "of " << body;
  const auto found = std::ranges::find(records, body, body_of);
  return found == records.end() ? none : *found;
}

std::string body_of(const json& record) { return record.value("/body/stringValue"_json_pointer, ""); }

json attribute_of(const json& record, const std::string& key) {
  for (const json& attribute : record.value("attributes", json::array()))
    if (attribute.at("key") == key) return attribute.at("value");
  return {};
}

RecordedLogs read_logs(const std::filesystem::path& directory) {
  RecordedLogs logs;
  logs.trace = read_trace(directory);
  logs.files = trace::open_trace(directory).logs_files;
  for (const auto& path : logs.files) {
    trace::TraceFile file(path, Signal::logs);
    while (const auto message = file.next()) {
      std::string line;
      otlp::append_json(line, Signal::logs, *message);
      const json request = json::parse(line);
      for (const json& record : request.at("resourceLogs")[0].at("scopeLogs")[0].at("logRecords"))
        logs.records.push_back(record);
    }
    EXPECT_TRUE(file.problems().empty()) << path << ": " << file.problems().front().reason;
  }
  return logs;
}

Config logging_config(const std::filesystem::path& directory) {
  Config config = recording_config(directory);
  config.logs_enabled = true;
  return config;
}

RecordedLogs record_logs(const std::function<void()>& body, const std::function<void(Config&)>& change) {
  TemporaryDirectory directory;
  Config config = logging_config(directory.path());
  if (change) change(config);
  {
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    body();
  }
  return read_logs(directory.path());
}

}  // namespace lens::tests
