// SPDX-License-Identifier: Apache-2.0
#include "src/record/ring_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "src/record/clock.h"
#include "tests/support/temporary_directory.h"

namespace lens::record {
namespace {

constexpr std::uint64_t plenty = 8 << 20;  // for lists of open spans

TEST(RingFile, MapsEachRingTwiceInARow) {
  std::string problem;
  const auto file = RingFile::create({"", "test"}, problem);
  ASSERT_TRUE(file) << problem;
  EXPECT_EQ(problem, "");
  for (std::uint32_t number : {1u, 2u}) {
    ASSERT_TRUE(file->make_ring(number));
    std::byte* data = file->data(number);
    const std::uint64_t bytes = file->ring(number).data_bytes;
    EXPECT_EQ(bytes & (bytes - 1), 0u);
    data[bytes] = std::byte{42};
    EXPECT_EQ(data[0], std::byte{42});
    data[bytes - 1] = std::byte{43};
    EXPECT_EQ(data[2 * bytes - 1], std::byte{43});
  }
  EXPECT_NE(file->ring(1).data_offset, file->ring(2).data_offset);
}

TEST(RingFile, SaysWhatItIs) {
  tests::TemporaryDirectory directory;
  std::string problem;
  const auto file = RingFile::create({directory.path() / "rings", "test.ring"}, problem);
  ASSERT_TRUE(file) << problem;
  EXPECT_EQ(file->path(), (directory.path() / "rings/test.ring").string());
  EXPECT_EQ(directory.read("rings/test.ring").substr(0, 8), std::string(layout_magic, 8));
  EXPECT_EQ(std::filesystem::status(file->path()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  file->remove_name();
  EXPECT_FALSE(std::filesystem::exists(file->path()));
}

TEST(RingFile, HasTheSizeThatItSaysBeforeThereIsARing) {
  tests::TemporaryDirectory directory;
  std::string problem;
  const auto file = RingFile::create({directory.path() / "rings", "test.ring"}, problem);
  ASSERT_TRUE(file) << problem;
  EXPECT_EQ(std::filesystem::file_size(file->path()), file->header().file_bytes.load());
}

/// The number by which this process has a file open; -1: none.
int descriptor_of(const std::filesystem::path& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone) == path) return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST(RingFile, DoesNotGrowInAFileOfTheProgramsThatGotItsDescriptor) {
  tests::TemporaryDirectory directory;
  std::string problem;
  const auto file = RingFile::create({directory.path() / "rings", "test.ring"}, problem);
  ASSERT_TRUE(file) << problem;
  const int number = descriptor_of(file->path());
  ASSERT_GE(number, 0);
  const auto path = directory.write("own", "the program's");
  const int own = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(dup2(own, number), number);  // it has closed what it did not open
  EXPECT_FALSE(file->make_ring(1));
  EXPECT_EQ(directory.read("own"), "the program's");
  close(own);
}

TEST(RingFile, FallsBackToPrivateMemoryAndSaysWhy) {
  tests::TemporaryDirectory directory;
  directory.write("file", "in the way");
  std::string problem;
  const auto file = RingFile::create({directory.path() / "file", "test.ring"}, problem);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path(), "");
  EXPECT_NE(problem.find("not a directory"), std::string::npos) << problem;
  EXPECT_TRUE(file->make_ring(1));
}

// Contract: 2.shm
TEST(RingFile, PrivateMemoryIsWithinEveryLimitOfFileSizes) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{64 << 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  tests::TemporaryDirectory directory;
  std::string problem;
  const auto file = RingFile::create({directory.path() / "rings", "test.ring"}, problem);
  const bool is_made = file && file->make_ring(1);
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(is_made);
  EXPECT_EQ(file->path(), "");
  EXPECT_NE(problem.find("File too large"), std::string::npos) << problem;
  std::byte* data = file->data(1);
  data[file->ring(1).data_bytes] = std::byte{42};
  EXPECT_EQ(data[0], std::byte{42});
}

TEST(RingFile, GivesTheRoomOfLongListsBackInPrivateMemoryToo) {
  std::string problem;
  const auto file = RingFile::create({"", "test"}, problem);
  ASSERT_TRUE(file && file->make_ring(1)) << problem;
  EXPECT_EQ(file->reserve_open(1, RingFile::open_room, plenty).size(), RingFile::open_room);
  EXPECT_EQ(file->reserve_open(1, 100, plenty).size(), 4096u);
}

TEST(RingFile, IsInADirectoryThatNobodyElseMayWriteTo) {
  tests::TemporaryDirectory directory;
  const std::filesystem::path own = directory.path() / "own", shared = directory.path() / "shared";
  std::string problem;
  ASSERT_TRUE(RingFile::create({own, "test.ring"}, problem));
  EXPECT_EQ(std::filesystem::status(own).permissions(), std::filesystem::perms::owner_all);
  std::filesystem::create_directory(shared);
  std::filesystem::permissions(shared, std::filesystem::perms::all);
  const auto file = RingFile::create({shared, "test.ring"}, problem);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path(), "");
  EXPECT_NE(problem.find("others may write"), std::string::npos) << problem;
}

TEST(RingFile, ReservesWhatAListOfOpenSpansNeedsAndNoMore) {
  std::string problem;
  const auto file = RingFile::create({"", "test"}, problem);
  ASSERT_TRUE(file) << problem;
  ASSERT_TRUE(file->make_ring(1));
  EXPECT_EQ(file->reserve_open(1, 0, plenty).size(), 4u << 10);
  EXPECT_EQ(file->reserve_open(1, 5000, plenty).size(), 8u << 10);
  EXPECT_EQ(file->reserve_open(1, 100'000, plenty).size(), 112u << 10);
  EXPECT_EQ(file->reserve_open(1, 30'000, plenty).size(), 112u << 10);  // it may soon be as long again
  EXPECT_EQ(file->reserve_open(1, 10'000, plenty).size(), 12u << 10);
  EXPECT_EQ(file->reserve_open(1, 10 << 20, plenty).size(), 1u << 20);
}

TEST(RingFile, MovesTheTailOfAListThatStaysTheSame) {
  std::string problem;
  const auto file = RingFile::create({"", "test"}, problem);
  ASSERT_TRUE(file && file->make_ring(1)) << problem;
  EXPECT_FALSE(file->advance_open(1, 100)) << "there is no list yet";
  file->publish_open(1, 200, 7, true);
  const RingHeader& ring = file->ring(1);
  const std::uint64_t version = ring.open_version.load();
  EXPECT_TRUE(file->advance_open(1, 300));
  EXPECT_EQ(ring.open_version.load(), version);
  EXPECT_EQ(ring.open[version & 1].tail, 300u);
  EXPECT_EQ(ring.open[version & 1].bytes, 7u);
  EXPECT_EQ(file->reserve_open(1, 100'000, plenty).size(), 112u << 10);
  EXPECT_FALSE(file->advance_open(1, 400)) << "the other list has memory to give back";
}

TEST(RingFile, GivesAllListsOfOpenSpansAsMuchMoreAsTheyMayHave) {
  std::string problem;
  const auto file = RingFile::create({"", "test"}, problem);
  ASSERT_TRUE(file) << problem;
  constexpr std::uint64_t most = 3 << 20;
  std::uint64_t bytes = 0;
  for (std::uint32_t number = 1; number <= 16; ++number) {
    ASSERT_TRUE(file->make_ring(number));
    const std::uint64_t one = file->reserve_open(number, RingFile::open_room, most).size();
    file->publish_open(number, 0, 0, true);
    const std::uint64_t other = file->reserve_open(number, RingFile::open_room, most).size();
    EXPECT_GE(other, one);  // or what found room in the one would not in the other
    bytes += one + other;
  }
  EXPECT_GT(bytes, most - (64 << 10));
  EXPECT_LE(bytes, most + 32 * 4096);
}

TEST(Clock, SamplesGoForwards) {
  ClockSample last = ClockSample::now();
  for (int i = 0; i < 100; ++i) {
    const ClockSample sample = ClockSample::now();
    EXPECT_GE(sample.ticks, last.ticks);
    EXPECT_GE(sample.monotonic_ns, last.monotonic_ns);
    last = sample;
  }
}

}  // namespace
}  // namespace lens::record
