// SPDX-License-Identifier: Apache-2.0
// Files among those of rings that nobody can read, or not whole: what the commands say of them beside what they do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "src/record/layout.h"
#include "tests/cli/standing_ranks.h"

namespace lens {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using tests::LensProcess;
using tests::StandingRanks;

/// A rank that stands in a span, and around it what dead ones might have left.
class UnreadableFiles : public testing::Test {
 protected:
  UnreadableFiles() {
    const fs::path sound = fs::directory_iterator(rings())->path();
    std::string header(sizeof(record::FileHeader), '\0');
    std::ifstream(sound, std::ios::binary).read(header.data(), std::streamsize(header.size()));
    write("empty", {});
    write("short", header.substr(0, 100));
    write("almost", header.substr(0, header.size() - 1));
    write("zeroed", std::string(4 << 20, '\0'));
    reinterpret_cast<record::FileHeader*>(header.data())->rank = 1;
    write("headless", header);
  }

  fs::path rings() const { return directory_.path() / "rings"; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(rings() / (name + "-rank1-1-1.ring"), std::ios::binary) << content;
  }
  int run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--shm-dir", rings()});
    LensProcess lens(directory_, arguments);
    const int exit_code = lens.wait();
    output_ = lens.output();
    errors_ = lens.errors();
    return exit_code;
  }
  /// Every file that is no file of rings, by name.
  static auto names_each() {
    return AllOf(HasSubstr("/empty-rank1-1-1.ring: its process died before it had recorded anything"),
                 HasSubstr("/short-rank1-1-1.ring is not a file of rings"),
                 HasSubstr("/almost-rank1-1-1.ring is not a file of rings"),
                 HasSubstr("/zeroed-rank1-1-1.ring: its process died before it had recorded anything"));
  }

  tests::TemporaryDirectory directory_;
  StandingRanks ranks_{directory_, {{"step"}}};
  std::string output_, errors_;
};

TEST_F(UnreadableFiles, are_told_by_top) {
  EXPECT_EQ(run({"top", "--once"}), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("step"), HasSubstr("rank 1: "), names_each()));
  EXPECT_EQ(run({"top", "--json"}), 0);
  const auto json = nlohmann::json::parse(output_);
  EXPECT_THAT(json["unreadable"], SizeIs(4));
  ASSERT_THAT(json["ranks"], SizeIs(2));
  EXPECT_THAT(json["ranks"][0]["problems"], SizeIs(0));
  EXPECT_THAT(json["ranks"][1]["problems"], testing::Not(SizeIs(0)));
}

TEST_F(UnreadableFiles, are_told_by_set) {
  EXPECT_EQ(run({"set", "job"}), 0);
  EXPECT_EQ(output_, "rank 0: now on: job\nrun standing: 1 of 1 ranks set\n");
  EXPECT_THAT(errors_, names_each());
}

TEST_F(UnreadableFiles, are_told_by_recover) {
  EXPECT_EQ(run({"recover"}), 0);
  EXPECT_THAT(errors_, AllOf(HasSubstr("rank 1 (process "), HasSubstr("cannot be read"),
                             HasSubstr("/empty-rank1-1-1.ring: its process died before it had recorded anything; "
                                       "`lens recover` removes it when it is a minute old"),
                             HasSubstr("/short-rank1-1-1.ring"), HasSubstr("/almost-rank1-1-1.ring"),
                             HasSubstr("/zeroed-rank1-1-1.ring")));
  EXPECT_EQ(run({"recover"}), 0);  // they harm nobody the second time either
}

}  // namespace
}  // namespace lens
