// SPDX-License-Identifier: Apache-2.0
#include "src/base/utf8.h"

#include <gtest/gtest.h>

#include "src/base/buffer.h"

namespace lens::base {
namespace {

TEST(Utf8, IsToldFromWhatIsNot) {
  for (const char* text :
       {"", "ascii, longer than eight", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "12345678\xc3\xa9"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\xc3", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
                           "12345678\xe2\x82", "\xe2\x28\xa1"})
    EXPECT_FALSE(is_utf8(text));
}

TEST(Utf8, IsRepairedByteByByte) {
  EXPECT_EQ(repaired_utf8("a\xff\xfe z"), "a\xef\xbf\xbd\xef\xbf\xbd z");
  EXPECT_EQ(repaired_utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      ASSERT_TRUE(is_utf8(repaired_utf8(std::string{static_cast<char>(first), static_cast<char>(second)})));
}

TEST(Utf8, IsCutBetweenCharacters) {
  EXPECT_EQ(first_characters("\xc3\xa9\xc3\xa9\xc3\xa9", 2), "\xc3\xa9\xc3\xa9");
  EXPECT_EQ(first_characters("abc", 5), "abc");
  EXPECT_EQ(first_characters("abc", 0), "");
}

TEST(Buffer, GrowsAndKeepsItsBytes) {
  Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = std::to_string(i);
    buffer.append(text);
    expected += text;
  }
  EXPECT_EQ(buffer.view(), expected);
  buffer.written_to(buffer.room(0));
  Buffer moved = std::move(buffer);
  EXPECT_EQ(moved.view(), expected);
  moved.clear();
  EXPECT_TRUE(moved.empty());
}

}  // namespace
}  // namespace lens::base
