// SPDX-License-Identifier: Apache-2.0
#include "src/export/spool.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "tests/support/temporary_directory.h"

namespace lens::exporting {
namespace {

using testing::HasSubstr;
using tests::TemporaryDirectory;

class SpoolTest : public testing::Test {
 protected:
  Spool spool(const std::string& run = "run1", std::uint64_t most_bytes = 1 << 20) {
    return Spool({directory_.path() / "state" / "spool", most_bytes, run},
                 [this](std::string_view line) { errors_ += std::string(line) + '\n'; });
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(directory_.path() / "state"))
      for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "state" / "spool"))
        files.push_back(entry.path());
    return files;
  }

  TemporaryDirectory directory_;
  std::string errors_;
};

std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST_F(SpoolTest, GivesBackWhatItTookTheOldestFirst) {
  Spool spool = this->spool();
  for (const char* message : {"one", "two", "three"}) EXPECT_TRUE(spool.add(message, 7));
  EXPECT_EQ(spool.own_spans(), 21u);
  for (const char* message : {"one", "two", "three"}) {
    const auto request = spool.take();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->message(), message);
    EXPECT_EQ(request->spans(), 7u);
    EXPECT_TRUE(request->is_own());
    spool.remove(*request);
  }
  EXPECT_FALSE(spool.take());
  EXPECT_EQ(spool.own_spans(), 0u);
  EXPECT_TRUE(files().empty());
}

TEST_F(SpoolTest, CreatesNothingBeforeThereIsSomethingToKeep) {
  Spool spool = this->spool();
  EXPECT_FALSE(spool.take());
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "state"));
}

TEST_F(SpoolTest, SurvivesTheProcessForTheNextOneOfTheRunOnly) {
  const pid_t child = fork();
  if (child == 0) _exit(spool("run/1").add("kept", 3) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(spool("run2").take());
  const auto request = spool("run/1").take();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->message(), "kept");
  EXPECT_FALSE(request->is_own());
}

TEST_F(SpoolTest, ARequestIsSentByOneAtATime) {
  Spool first = spool(), second = spool();
  first.add("once", 1);
  {
    const auto request = first.take();
    ASSERT_TRUE(request);
    EXPECT_FALSE(second.take());
    EXPECT_FALSE(first.take());
  }
  EXPECT_TRUE(second.take()) << "not sent, so somebody else's turn";
}

TEST_F(SpoolTest, GivesWhoNamesNoRunThoseOfAllRuns) {
  spool("run1").add("one", 3);
  spool("run2").add("two", 4);
  Spool all = spool("");
  EXPECT_EQ(all.contents().requests, 2u);
  EXPECT_EQ(all.contents().spans, 7u);
  for (const char* message : {"one", "two"}) {
    const auto request = all.take();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->message(), message);
    all.remove(*request);
  }
  EXPECT_FALSE(all.take());
  EXPECT_EQ(all.contents().requests, 0u);
}

TEST_F(SpoolTest, DropsTheOldestForWantOfRoomAndCountsThem) {
  Spool spool = this->spool("run1", 10'000);
  for (unsigned i = 0; i < 5; ++i) EXPECT_TRUE(spool.add(noise(3'000, i), 10 + i));
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(spool.take_dropped(), 10u + 11u);
  EXPECT_EQ(spool.take_dropped(), 0u);
  EXPECT_EQ(spool.take()->message(), noise(3'000, 2));
  EXPECT_THAT(errors_, HasSubstr("full"));
}

TEST_F(SpoolTest, DoesNotDropWhatIsBeingSent) {
  Spool spool = this->spool("run1", 7'000);
  spool.add(noise(3'000, 0), 1);
  spool.add(noise(3'000, 1), 2);
  const auto sent = spool.take();
  spool.add(noise(3'000, 2), 4);
  EXPECT_EQ(spool.take_dropped(), 2u);
  EXPECT_EQ(spool.take()->message(), noise(3'000, 2));
}

TEST_F(SpoolTest, RefusesWhatIsLargerThanItself) {
  Spool spool = this->spool("run1", 1'000);
  EXPECT_FALSE(spool.add(noise(3'000, 0), 1));
  EXPECT_THAT(errors_, HasSubstr("smaller than one request"));
  EXPECT_FALSE(this->spool("run1", 0).add("any", 1));
}

TEST_F(SpoolTest, ADirectoryThatCannotBeWrittenLosesTheRequestAndSaysSo) {
  directory_.write("state", "a file where a directory should be");
  EXPECT_FALSE(spool().add("lost", 1));
  EXPECT_THAT(errors_, HasSubstr("cannot keep spans"));
}

TEST_F(SpoolTest, ADamagedFileIsRemovedAndForeignOnesAreLeftAlone) {
  Spool spool = this->spool();
  spool.add("first", 5);
  const auto damaged = files().at(0);
  std::filesystem::resize_file(damaged, std::filesystem::file_size(damaged) - 1);
  spool.add("second", 6);
  std::ofstream(damaged.parent_path() / "notes.txt") << "not ours";
  EXPECT_EQ(spool.take()->message(), "second");
  EXPECT_EQ(spool.take_dropped(), 5u);
  EXPECT_FALSE(std::filesystem::exists(damaged));
  EXPECT_TRUE(std::filesystem::exists(damaged.parent_path() / "notes.txt"));
  EXPECT_THAT(errors_, HasSubstr("damaged"));
}

TEST_F(SpoolTest, WhatAKilledProcessHadHalfWrittenIsClearedAway) {
  spool().add("whole", 1);
  const auto old = files().at(0).parent_path() / ".1000000000000000000-1-1-10-run1.otlp.zst";
  std::ofstream(old) << "half";
  EXPECT_EQ(spool().take()->message(), "whole");
  EXPECT_FALSE(std::filesystem::exists(old));
}

TEST_F(SpoolTest, IsReadableByItsOwnerOnly) {
  Spool spool = this->spool();
  spool.add("secret", 1);
  struct stat status;
  ASSERT_EQ(stat(files().at(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace lens::exporting
