// SPDX-License-Identifier: Apache-2.0
#include "src/record/ring_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "src/record/clock.h"
#include "tests/support/temporary_directory.h"

namespace lens::record {
namespace {

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

TEST(RingFile, AllRingsStayWithinTheMemoryOfAProcess) {
  std::string problem;
  const auto file = RingFile::create({"", "test"}, problem);
  ASSERT_TRUE(file) << problem;
  for (std::uint32_t number = 1; number <= RingFile::max_rings; ++number) ASSERT_TRUE(file->make_ring(number));
  EXPECT_LE(file->header().file_bytes.load(), 16u << 20);
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
