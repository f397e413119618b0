// SPDX-License-Identifier: Apache-2.0
#include "src/setup/setting.h"

#include <gmock/gmock.h>

#include "tests/support/throws.h"

namespace lens::setup {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Setting of(const char* value) { return {"NAME", value}; }

template <typename Call>
std::string fault(const Call& call) {
  return test::invalid_argument_of(call);
}

// Contract: 2.enabled
TEST(Setting, BooleansAreFourPairsOfWordsInAnyCase) {
  for (const char* word : {"1", "true", "yes", "on", "TRUE", "Yes", "oN"}) EXPECT_TRUE(boolean(of(word))) << word;
  for (const char* word : {"0", "false", "no", "off", "False", "NO", "oFF"}) EXPECT_FALSE(boolean(of(word))) << word;
}

TEST(Setting, AnyOtherBooleanIsAnErrorThatNamesVariableAndValue) {
  for (const char* word : {"2", "y", "t", "enabled", "01", "true false"})
    EXPECT_THAT(fault([&] { boolean(of(word)); }), AllOf(HasSubstr("NAME"), HasSubstr(word), HasSubstr("yes/no")));
}

TEST(Setting, IntegersHaveNoTailAndRespectTheirMinimum) {
  EXPECT_EQ(integer(of("-7"), -10), -7);
  for (const char* text : {"", "x", "1.5", "1x", "0x10", "99999999999", "-11"})
    EXPECT_THAT(fault([&] { integer(of(text), -10); }), HasSubstr("NAME")) << text;
}

TEST(Setting, RatiosAreWithinZeroAndOne) {
  EXPECT_EQ(ratio(of("0")), 0.0);
  EXPECT_EQ(ratio(of("1")), 1.0);
  EXPECT_EQ(ratio(of("2.5e-1")), 0.25);
  for (const char* text : {"-0.1", "1.1", "nan", "NaN", "inf", "", "0,5", "50%"})
    EXPECT_THAT(fault([&] { ratio(of(text)); }), HasSubstr("from 0 to 1")) << text;
}

// Contract: C17
TEST(Setting, DurationsAreMilliseconds) {
  EXPECT_EQ(duration(of("30")), std::chrono::milliseconds(30));
  for (const char* text : {"10s", "-1", "1.5", "9999999999999999999"})
    EXPECT_THAT(fault([&] { duration(of(text)); }), HasSubstr("milliseconds")) << text;
}

TEST(Setting, SizesTakeBinaryAndDecimalUnits) {
  EXPECT_EQ(size_bytes(of("0")), 0u);
  EXPECT_EQ(size_bytes(of("4096")), 4096u);
  EXPECT_EQ(size_bytes(of("512MiB")), 512u << 20);
  EXPECT_EQ(size_bytes(of("2 g")), 2ULL << 30);
  EXPECT_EQ(size_bytes(of("1GB")), 1'000'000'000u);
  for (const char* text : {"", "MiB", "-1", "1.5GiB", "12 parsecs", "99999999999999999999", "99999999TiB"})
    EXPECT_THAT(fault([&] { size_bytes(of(text)); }), HasSubstr("512MiB")) << text;
}

TEST(Setting, ChoicesIgnoreCaseAndListWhatThereIs) {
  EXPECT_EQ(choice(of("GZIP"), {"gzip", "none"}), "gzip");
  EXPECT_THAT(fault([] { choice(of("zip"), {"gzip", "none"}); }), AllOf(HasSubstr("NAME"), HasSubstr("gzip, none")));
}

// Contract: 7.headers
TEST(Setting, PairsAreTrimmedAndPercentDecodedAndValuesMayHoldEquals) {
  EXPECT_THAT(pairs(of(" a = 1 ,b=x%2Cy,,c=k=v,d=")),
              ElementsAre(Pair("a", "1"), Pair("b", "x,y"), Pair("c", "k=v"), Pair("d", "")));
}

TEST(Setting, OneMalformedPairRejectsThemAll) {
  const auto fault_of = [](const char* text) { return fault([&] { pairs(of(text)); }); };
  for (const auto& [text, item] : {std::pair{"a=1,b", "2"}, {"=1", "1"}, {"a=%zz", "1"}, {"a=1,,b=%4", "3"}})
    EXPECT_EQ(fault_of(text), std::string("NAME: item ") + item + " is not key=value, percent-encoded");
}

}  // namespace
}  // namespace lens::setup
