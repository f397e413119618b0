// SPDX-License-Identifier: Apache-2.0
// Each directory beside this file is a case: a trace in, the findings out. `LENS_GOLDEN_UPDATE=1` writes the findings
// instead of comparing them: look at the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/analyze/report.h"
#include "tools/cli/report_json.h"

namespace lens {
namespace {

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(LENS_GOLDEN_DIR)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, trace_gives_its_findings) {
  std::filesystem::path directory = std::filesystem::path(LENS_GOLDEN_DIR) / GetParam();
  std::string findings = cli::report_json(analyze::make_report(trace::open_trace(directory / "trace")));
  if (std::getenv("LENS_GOLDEN_UPDATE") != nullptr) {
    std::ofstream(directory / "report.json") << findings;
    return;
  }
  std::ifstream expected(directory / "report.json");
  ASSERT_TRUE(expected) << "no report.json";
  EXPECT_EQ(nlohmann::json::parse(findings), nlohmann::json::parse(expected)) << findings;
}

INSTANTIATE_TEST_SUITE_P(, Golden, testing::ValuesIn(cases()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lens
