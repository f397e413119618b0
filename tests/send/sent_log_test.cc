// SPDX-License-Identifier: Apache-2.0
#include "tools/send/sent_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <system_error>

#include "tests/support/file_locks.h"
#include "tests/support/temporary_directory.h"

namespace lens::send {
namespace {

class SentLogTest : public testing::Test {
 protected:
  SentLog open(const std::string& destination = "http://c/v1/traces") const {
    return SentLog(directory.path(), destination);
  }

  tests::TemporaryDirectory directory;
};

TEST_F(SentLogTest, RemembersHowMuchOfEachFileWasTaken) {
  {
    SentLog log = open();
    EXPECT_EQ(log.sent("a").bytes, 0u);
    log.add("a", {10});
    log.add("b", {5});
    log.add("a", {30});
    log.add("d", {40, 7});
  }
  SentLog log = open();
  EXPECT_EQ(log.sent("a").bytes, 30u);
  EXPECT_EQ(log.sent("b").bytes, 5u);
  EXPECT_EQ(log.sent("c").bytes, 0u);
  EXPECT_EQ(log.sent("d").bytes, 40u);
  EXPECT_EQ(log.sent("d").items, 7u) << "of the request that begins there";
}

TEST_F(SentLogTest, KeepsDestinationsApart) {
  SentLog one = open("http://one"), other = open("http://other");
  one.add("a", {10});
  EXPECT_EQ(other.sent("a").bytes, 0u);
  EXPECT_NE(one.path(), other.path());
}

TEST_F(SentLogTest, PassesALineOverThatItsWriterWasKilledIn) {
  std::filesystem::path path;
  {
    SentLog log = open();
    log.add("a", {10});
    path = log.path();
  }
  std::ofstream(path, std::ios::app) << R"({"file":"a","sent_by)";
  {
    SentLog log = open();
    EXPECT_EQ(log.sent("a").bytes, 10u);
    log.add("a", {20});
  }
  EXPECT_EQ(open().sent("a").bytes, 20u);
}

TEST_F(SentLogTest, IsOneProcessesAtATime) {
  const SentLog log = open();
  EXPECT_TRUE(log.is_locked());
  EXPECT_THROW(open(), std::runtime_error);
}

TEST_F(SentLogTest, GoesOnWhereThereAreNoLocksAndTellsSo) {
  const tests::FileLocks none(tests::FileLocks::Kind::none);
  {
    SentLog log = open();
    EXPECT_FALSE(log.is_locked());
    log.add("a", {10});
  }
  EXPECT_EQ(open().sent("a").bytes, 10u);
}

TEST_F(SentLogTest, DoesNotBlameAnotherProcessForALockThatFails) {
  const tests::FileLocks broken(tests::FileLocks::Kind::broken);
  EXPECT_THROW(open(), std::system_error);
}

TEST_F(SentLogTest, ForgetsWhenItIsTold) {
  {
    SentLog log = open();
    log.add("a", {10});
    log.clear();
    EXPECT_EQ(log.sent("a").bytes, 0u);
    log.add("b", {1});
  }
  EXPECT_EQ(open().sent("a").bytes, 0u);
  EXPECT_EQ(open().sent("b").bytes, 1u);
}

TEST_F(SentLogTest, SaysWhatItCannotUnderstandOrWrite) {
  const std::filesystem::path path = open().path();
  std::ofstream(path) << "no log\n";
  EXPECT_THROW(open(), std::runtime_error);
  EXPECT_THROW(SentLog(directory.path() / "nowhere", "http://c"), std::system_error);
}

}  // namespace
}  // namespace lens::send
