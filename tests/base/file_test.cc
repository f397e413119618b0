// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace lens::base {
namespace {

TEST(File, IsReadWhole) {
  const std::string path = testing::TempDir() + "lens_file_test";
  std::ofstream{path, std::ios::binary} << std::string("two\nlines\0", 10);
  EXPECT_EQ(read_file(path), std::string("two\nlines\0", 10));
  std::ofstream{path, std::ios::trunc};
  EXPECT_EQ(read_file(path), "");
  std::filesystem::remove(path);
}

TEST(File, OfTheKernelHasContentThoughItsSizeIsZero) {
  EXPECT_THAT(read_file("/proc/self/stat"), testing::Optional(testing::HasSubstr("(")));
}

TEST(File, IsReadUpToALimit) {
  const std::string path = testing::TempDir() + "lens_file_test", content(100'000, 'x');
  std::ofstream{path, std::ios::binary} << content;
  EXPECT_EQ(read_file(path), content);
  EXPECT_EQ(read_file(path, 50'000), content.substr(0, 50'000));
  std::filesystem::remove(path);
}

TEST(File, IsNoPipeAndNoDevice) {
  const std::string path = testing::TempDir() + "lens_pipe_test";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_file(path), std::nullopt) << "nobody writes to it";
  EXPECT_EQ(read_file("/dev/zero"), std::nullopt);
  std::filesystem::remove(path);
}

TEST(File, ThatCannotBeReadGivesNothing) {
  EXPECT_EQ(read_file("/proc/self/no such file"), std::nullopt);
  EXPECT_EQ(read_file("/proc"), std::nullopt);
}

}  // namespace
}  // namespace lens::base
