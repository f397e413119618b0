// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"

#include <gmock/gmock.h>

namespace lens::base {
namespace {

using testing::ElementsAre;

TEST(Text, TrimTakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, JoinPutsTheSeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::vector<std::string>{"", "b"}, ","), ",b");
  EXPECT_EQ(join(std::vector<std::string>{}, ","), "");
}

TEST(Text, LowerChangesAsciiLettersOnly) { EXPECT_EQ(lower("Per_Step-Ä9"), "per_step-Ä9"); }

TEST(Text, UpperChangesAsciiLettersOnly) { EXPECT_EQ(upper("Per_Step-ä9"), "PER_STEP-ä9"); }

TEST(Text, CountedIsOneThingOrSeveral) {
  EXPECT_EQ(counted(0, "span"), "0 spans");
  EXPECT_EQ(counted(1, "span"), "1 span");
  EXPECT_EQ(counted(2, "log record"), "2 log records");
}

TEST(Text, PercentEscapesAreDecoded) {
  EXPECT_EQ(percent_decoded("a%2Cb%3dc%25"), "a,b=c%");
  EXPECT_EQ(percent_decoded("plain"), "plain");
}

TEST(Text, AMalformedPercentEscapeGivesNothing) {
  EXPECT_EQ(percent_decoded("%"), std::nullopt);
  EXPECT_EQ(percent_decoded("%2"), std::nullopt);
  EXPECT_EQ(percent_decoded("%zz"), std::nullopt);
  EXPECT_EQ(percent_decoded("%2x"), std::nullopt);
  EXPECT_EQ(percent_decoded("%-1"), std::nullopt);
}

TEST(Text, EditDistanceCountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("SPAN_GROUP", "SPAN_GROUPS"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
}

TEST(Text, NearestIsTheCandidateWithFewestEdits) {
  const std::vector<std::string_view> keys{"EXPORTER", "EXPORT_RANK", "ENABLED"};
  EXPECT_EQ(nearest("ENABLE", keys), "ENABLED");
  EXPECT_EQ(nearest("EXPORT_RANKS", keys), "EXPORT_RANK");
  EXPECT_EQ(nearest("ANY", {}), "");
}

}  // namespace
}  // namespace lens::base
