// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lens/version.h"
#include "tests/cli/lens_process.h"

namespace lens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::LensProcess;

class Program : public testing::Test {
 protected:
  tests::TemporaryDirectory directory;
};

TEST_F(Program, prints_its_help_and_version) {
  for (const char* word : {"--help", "help"}) {
    LensProcess lens(directory, {word});
    EXPECT_EQ(lens.wait(), 0);
    EXPECT_THAT(lens.output(), AllOf(HasSubstr("run"), HasSubstr("report"), HasSubstr("doctor"), HasSubstr("send"),
                                     HasSubstr("flush"), HasSubstr("Exit codes: 0")));
  }
  LensProcess lens(directory, {"--version"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_EQ(lens.output(), std::string("lens ") + version + "\n");
}

TEST_F(Program, prints_the_help_of_a_command) {
  LensProcess by_option(directory, {"run", "--help"});
  EXPECT_EQ(by_option.wait(), 0);
  std::string help = by_option.output();
  EXPECT_THAT(help, AllOf(HasSubstr("Usage: lens run"), HasSubstr("--span-groups"), HasSubstr("--out")));
  LensProcess by_command(directory, {"help", "run"});
  EXPECT_EQ(by_command.wait(), 0);
  EXPECT_EQ(by_command.output(), help);
}

TEST_F(Program, refuses_wrong_usage_and_says_where_to_look) {
  for (std::vector<std::string> arguments :
       std::vector<std::vector<std::string>>{{}, {"walk"}, {"--walk"}, {"help", "walk"}}) {
    LensProcess lens(directory, arguments);
    EXPECT_EQ(lens.wait(), 2);
    EXPECT_THAT(lens.errors(), HasSubstr("lens --help"));
    EXPECT_EQ(lens.output(), "");
  }
}

}  // namespace
}  // namespace lens
