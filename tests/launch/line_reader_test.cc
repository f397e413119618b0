// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/line_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace lens::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LineReaderTest : public testing::Test {
 protected:
  LineReaderTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
    reader_ = std::make_unique<LineReader>(FileDescriptor(ends[0]));
    writer_ = FileDescriptor(ends[1]);
  }

  std::vector<std::string> lines_after(std::string_view text) {
    EXPECT_EQ(write(writer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return lines();
  }

  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    reader_->read_available([&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }

  std::unique_ptr<LineReader> reader_;
  FileDescriptor writer_;
};

TEST_F(LineReaderTest, joins_a_line_that_comes_in_parts) {
  EXPECT_THAT(lines_after("one\ntw"), ElementsAre("one"));
  EXPECT_THAT(lines_after("o\n\nthree"), ElementsAre("two", ""));
  EXPECT_TRUE(reader_->is_open());
}

TEST_F(LineReaderTest, hands_over_a_last_line_without_its_end) {
  EXPECT_THAT(lines_after("last"), IsEmpty());
  writer_.reset();
  EXPECT_THAT(lines(), ElementsAre("last"));
  EXPECT_FALSE(reader_->is_open());
}

TEST_F(LineReaderTest, does_not_keep_a_line_without_end_forever) {
  std::string piece(60'000, 'x');
  EXPECT_THAT(lines_after(piece), IsEmpty());
  auto lines = lines_after(piece);
  ASSERT_FALSE(lines.empty());
  EXPECT_GE(lines[0].size(), 64u * 1024);
}

}  // namespace
}  // namespace lens::launch
