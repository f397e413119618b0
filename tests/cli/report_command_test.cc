// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/lens_process.h"

namespace lens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::LensProcess;

const std::string golden = LENS_GOLDEN_DIR;

class ReportCommand : public testing::Test {
 protected:
  tests::TemporaryDirectory directory;
};

TEST_F(ReportCommand, prints_the_findings_for_people) {
  LensProcess lens(directory, {"report", golden + "/two_ranks/trace"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("Run golden\n"), HasSubstr("2 of 2 on node-a, 2 pipeline stages"),
                                   HasSubstr("median 72.0 ms   p95 90.0 ms   worst 90.0 ms (iteration 2, rank 1)"),
                                   HasSubstr("megatron.microbatch.backward")));
  EXPECT_EQ(lens.errors(), "");
}

TEST_F(ReportCommand, prints_the_findings_for_programs) {
  LensProcess lens(directory, {"report", golden + "/two_ranks/trace", "--json"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_EQ(nlohmann::json::parse(lens.output())["run"]["spans"], 34);
}

TEST_F(ReportCommand, takes_the_newest_run) {
  std::filesystem::create_directories(directory.path() / "lens");
  std::filesystem::copy(golden + "/dropped_spans/trace", directory.path() / "lens/older");
  std::filesystem::copy(golden + "/two_ranks/trace", directory.path() / "lens/newer");
  auto time = std::filesystem::last_write_time(directory.path() / "lens/newer");
  std::filesystem::last_write_time(directory.path() / "lens/older", time - std::chrono::seconds(5));
  LensProcess lens(directory, {"report"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("34 in 2 files"));
}

TEST_F(ReportCommand, names_the_files_that_it_cannot_read) {
  LensProcess lens(directory, {"report", golden + "/foreign_file/trace"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), AllOf(HasSubstr("17 in 1 file"), HasSubstr("README.txt: not a trace file"),
                                   HasSubstr("traces-rank9-1-1.otlp.zst: not a trace file")));
}

TEST_F(ReportCommand, takes_the_step_that_it_is_told) {
  LensProcess lens(directory, {"report", golden + "/two_ranks/trace", "--step-span", "megatron.optimizer_step"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("Step time (megatron.optimizer_step, 4 on all ranks)"));
}

TEST_F(ReportCommand, fails_for_a_directory_without_spans_and_says_what_was_meant) {
  std::filesystem::create_directories(directory.path() / "lens");
  std::filesystem::copy(golden + "/two_ranks/trace", directory.path() / "lens/run");
  LensProcess lens(directory, {"report", "lens"});
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), HasSubstr("lens holds no spans; did you mean lens/run?"));
}

TEST_F(ReportCommand, refuses_wrong_usage) {
  LensProcess nothing(directory, {"report"});
  EXPECT_EQ(nothing.wait(), 2);
  EXPECT_THAT(nothing.errors(), HasSubstr("lens run -- COMMAND"));
  LensProcess missing(directory, {"report", "/nowhere/at/all"});
  EXPECT_EQ(missing.wait(), 2);
  EXPECT_THAT(missing.errors(), HasSubstr("/nowhere/at/all does not exist"));
}

}  // namespace
}  // namespace lens
