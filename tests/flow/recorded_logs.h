// SPDX-License-Identifier: Apache-2.0
// Runs a piece of a program with log records on and reads back what it left beside its spans.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {

struct RecordedLogs {
  std::vector<nlohmann::json> records;  // LogRecord of OTLP/JSON, in the order of the file
  std::vector<std::filesystem::path> files;
  RecordedTrace trace;

  /// The one record with this body; fails the test when there is none, or more than one.
  const nlohmann::json& only(const std::string& body) const;
};

std::string body_of(const nlohmann::json& record);
/// The value of an attribute, such as {"intValue":"3"}; null without one.
nlohmann::json attribute_of(const nlohmann::json& record, const std::string& key);

RecordedLogs read_logs(const std::filesystem::path& directory);

/// `recording_config` with log records, and nothing said when there are none.
Config logging_config(const std::filesystem::path& directory);

RecordedLogs record_logs(const std::function<void()>& body, const std::function<void(Config&)>& change = {});

}  // namespace lens::tests
