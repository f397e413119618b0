// SPDX-License-Identifier: Apache-2.0
// What `lens doctor` finds in an environment.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/lens_process.h"
#include "tests/support/environment.h"

namespace lens::tests {

using nlohmann::json;

class DoctorCommand : public testing::Test {
 protected:
  DoctorCommand() {
    environment.set("HOME", directory.path().c_str());
    environment.set("no_proxy", "*");
    environment.set("NEMO_LENS_ENABLED", "1");
    environment.set("NEMO_LENS_RUN_ID", "run");
  }

  json examine(std::vector<std::string> options = {"--offline"}, void (*in_child)() = nullptr) {
    options.insert(options.begin(), {"doctor", "--json"});
    LensProcess lens(directory, options, in_child);
    exit_code = lens.wait();
    EXPECT_EQ(lens.errors(), "");
    return json::parse(lens.output());
  }
  std::string text(std::vector<std::string> options = {"--offline"}) {
    options.insert(options.begin(), "doctor");
    LensProcess lens(directory, options);
    exit_code = lens.wait();
    return lens.output();
  }
  /// Of the first variable with this key.
  static json setting(const json& examination, const std::string& key) {
    for (const json& setting : examination["settings"])
      if (setting["key"] == key) return setting;
    return nullptr;
  }
  static std::string problems(const json& examination) { return examination["problems"].dump(); }

  TemporaryDirectory directory;
  lens::test::Environment environment;
  int exit_code = -1;
};

}  // namespace lens::tests
