// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

template <class T>
constexpr bool is_attribute = detail::Value<T> || detail::Deferred<T>;

// Contract: 4.types
TEST(Attributes, OfOtherTypesDoNotCompile) {
  static_assert(is_attribute<bool> && is_attribute<unsigned char> && is_attribute<float> && is_attribute<const char*>);
  static_assert(is_attribute<std::string> && is_attribute<std::vector<int>> && is_attribute<double[3]>);
  static_assert(is_attribute<decltype([] { return 1; })>);
  static_assert(!is_attribute<void*> && !is_attribute<int*>);
  static_assert(!is_attribute<std::optional<int>> && !is_attribute<std::map<std::string, int>>);
  static_assert(!is_attribute<std::vector<std::vector<int>>> && !is_attribute<std::vector<void*>>);
  static_assert(!is_attribute<SpanContext> && !is_attribute<decltype([] { return SpanContext{}; })>);
}

// Contract: 4.attributes
TEST(Attributes, OfEveryType) {
  const std::string text = "héllo";
  const RecordedTrace trace = record([&] {
    auto span = managed_span(
        SpanGroup::step, "step", "bool"_a = true, "int"_a = -5, "int64"_a = std::numeric_limits<std::int64_t>::min(),
        "unsigned"_a = 7u, "float"_a = 0.5f, "double"_a = 1e300, "literal"_a = "text", "string"_a = text,
        "view"_a = std::string_view("view"), "empty"_a = "", "temporary"_a = std::string("made at the call"),
        "deferred"_a = [] { return std::string("called"); }, "no text"_a = static_cast<const char*>(nullptr));
    span.set("ints"_a = std::vector<int>{1, -2, 3}, "doubles"_a = std::array<double, 2>{0.25, -1},
             "texts"_a = std::vector<std::string>{"", "one", "longer than eight"}, "bools"_a = std::array{true, false},
             "none"_a = std::vector<double>{}, lens::attribute(text, 1));
  });
  const RecordedSpan& span = trace.only("step");
  const Attributes expected{{"bool", true},
                            {"int", std::int64_t{-5}},
                            {"int64", std::numeric_limits<std::int64_t>::min()},
                            {"unsigned", std::int64_t{7}},
                            {"float", 0.5},
                            {"double", 1e300},
                            {"literal", std::string("text")},
                            {"string", text},
                            {"view", std::string("view")},
                            {"empty", std::string()},
                            {"temporary", std::string("made at the call")},
                            {"deferred", std::string("called")},
                            {"no text", std::string()},
                            {"ints", std::vector<std::int64_t>{1, -2, 3}},
                            {"doubles", std::vector<double>{0.25, -1}},
                            {"texts", std::vector<std::string>{"", "one", "longer than eight"}},
                            {"bools", std::vector<bool>{true, false}},
                            {"none", std::vector<std::int64_t>{}},
                            {"héllo", std::int64_t{1}}};
  for (const auto& [key, value] : expected) EXPECT_EQ(span.attributes.at(key), value) << key;
  EXPECT_EQ(span.attributes.size(), expected.size());
}

// Contract: 4.attributes
TEST(Attributes, ThatAreNoNumberPass) {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  const RecordedTrace trace = record([] {
    auto span = managed_span(SpanGroup::step, "step", "nan"_a = std::nan(""), "up"_a = infinity, "down"_a = -infinity);
  });
  EXPECT_TRUE(std::isnan(trace.only("step").at<double>("nan")));
  EXPECT_EQ(trace.only("step").at<double>("up"), infinity);
  EXPECT_EQ(trace.only("step").at<double>("down"), -infinity);
}

// OTLP has no unsigned integers: the specification asks for the digits as text.
TEST(Attributes, BeyondSignedIntegersKeepTheirDigits) {
  static constexpr auto max = std::numeric_limits<std::uint64_t>::max();
  const RecordedTrace trace = record([] {
    auto span = managed_span(SpanGroup::step, "step", "max"_a = max, "small"_a = std::uint64_t{3},
                             "array"_a = std::array<std::uint64_t, 2>{1, 2});
  });
  EXPECT_EQ(trace.only("step").at<std::string>("max"), "18446744073709551615");
  EXPECT_EQ(trace.only("step").at<std::int64_t>("small"), 3);
  EXPECT_EQ(trace.only("step").at<std::vector<std::int64_t>>("array"), (std::vector<std::int64_t>{1, 2}));
}

TEST(Attributes, LongerThanARecordHoldsAreCut) {
  const std::string text(70'000, 'x');
  const RecordedTrace trace = record([&] {
    auto span = managed_span(SpanGroup::step, "step", "long"_a = text, "after"_a = 1);
    span.set("longer"_a = text + "y");
  });
  EXPECT_EQ(trace.only("step").at<std::string>("long"), text.substr(0, 65'535));
  EXPECT_EQ(trace.only("step").at<std::string>("longer").size(), 65'535u);
  EXPECT_EQ(trace.only("step").at<std::int64_t>("after"), 1);
}

TEST(Attributes, OfEqualKeysTheLastWins) {
  const RecordedTrace trace = record([] {
    auto span = managed_span(SpanGroup::step, "step", "loss"_a = 1.0, "loss"_a = 2.0);
    span.set("loss"_a = "three");
    span.set(attribute(std::string("lo") + "ss", 4));
  });
  EXPECT_EQ(trace.only("step").attributes, (Attributes{{"loss", std::int64_t{4}}}));
}

// Contract: 4.limits
TEST(Attributes, BeyondTheLimitAreCounted) {
  const RecordedTrace trace = record([] {
    auto span = managed_span(SpanGroup::step, "step");
    for (int i = 0; i < 200; ++i) span.set(attribute("key " + std::to_string(i), i));
    for (int i = 0; i < 130; ++i) span.add_event("event");
    for (int i = 0; i < 131; ++i) span.add_link(span.context());
  });
  const RecordedSpan& span = trace.only("step");
  EXPECT_EQ(span.attributes.size(), 128u);
  EXPECT_TRUE(span.has("key 127"));
  EXPECT_EQ(span.dropped_attributes, 72u);
  EXPECT_EQ(span.events.size(), 128u);
  EXPECT_EQ(span.dropped_events, 2u);
  EXPECT_EQ(span.links.size(), 128u);
  EXPECT_EQ(span.dropped_links, 3u);
}

// Contract: C18
TEST(Attributes, KeepTheConfiguredLimits) {
  const RecordedTrace trace = record(
      [] {
        auto span = managed_span(SpanGroup::step, "step", "a"_a = "ééééé", "b"_a = 2, "c"_a = 3);
        span.add_event("event", "d"_a = std::vector<std::string>{"12345"}, "e"_a = 5);
      },
      [](Config& config) {
        config.standard.span_limits.attributes = 2;
        config.standard.span_limits.event_attributes = 1;
        config.standard.span_limits.value_length = 3;
      });
  const RecordedSpan& span = trace.only("step");
  EXPECT_EQ(span.attributes, (Attributes{{"a", std::string("ééé")}, {"b", std::int64_t{2}}}));
  EXPECT_EQ(span.dropped_attributes, 1u);
  EXPECT_EQ(span.events.at(0).attributes, (Attributes{{"d", std::vector<std::string>{"123"}}}));
  EXPECT_EQ(span.events.at(0).dropped_attributes, 1u);
}

// Contract: 4.redaction
TEST(Attributes, ThatHoldSecretsAreRedacted) {
  const RecordedTrace trace = record([] {
    auto span = managed_span(SpanGroup::step, "step", "prompt"_a = "s", "API_KEY"_a = "s", "auth.token"_a = "s",
                             "Password"_a = "s", "monkey"_a = "banana", "gen_ai.prompt"_a = "shown", "key"_a = 5,
                             "keys"_a = "shown", "secret"_a = std::vector<std::string>{"s", "t"});
    span.add_event("event", "token"_a = "s", "text"_a = std::string("s"));
  });
  const std::string redacted = "[REDACTED]";
  const RecordedSpan& span = trace.only("step");
  for (const char* key : {"prompt", "API_KEY", "auth.token", "Password"})
    EXPECT_EQ(span.at<std::string>(key), redacted) << key;
  EXPECT_EQ(span.at<std::vector<std::string>>("secret"), std::vector<std::string>(2, redacted));
  EXPECT_EQ(span.at<std::string>("monkey"), "banana");
  EXPECT_EQ(span.at<std::string>("keys"), "shown");
  EXPECT_EQ(span.at<std::string>("gen_ai.prompt"), "shown");
  EXPECT_EQ(span.at<std::int64_t>("key"), 5);
  EXPECT_EQ(span.events.at(0).attributes, (Attributes{{"token", redacted}, {"text", redacted}}));
}

// Contract: 4.redaction
TEST(Attributes, AreRedactedByTheCallersList) {
  const RecordedTrace trace = record(
      [] {
        auto span =
            managed_span(SpanGroup::step, "step", "prompt"_a = "shown", "user.name"_a = "s", "api_key"_a = "shown");
      },
      [](Config& config) { config.redacted_keys = {"user.name"}; });
  EXPECT_EQ(trace.only("step").at<std::string>("prompt"), "shown");
  EXPECT_EQ(trace.only("step").at<std::string>("api_key"), "shown");
  EXPECT_EQ(trace.only("step").at<std::string>("user.name"), "[REDACTED]");
}

TEST(Text, ThatIsNoUtf8IsRepaired) {
  const std::string torn = "caf\xc3";
  const RecordedTrace trace = record([&] {
    auto span = managed_span(SpanGroup::step, torn, attribute("k\xff", "\xed\xa0\x80"));
    span.add_event(torn, "v"_a = std::vector<std::string>{"ok", torn});
    span.set_status(StatusCode::error, torn);
  });
  const RecordedSpan& span = trace.only("caf\xef\xbf\xbd");
  EXPECT_EQ(span.attributes.at("k\xef\xbf\xbd"), AttributeValue{std::string("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd")});
  EXPECT_EQ(span.events.at(0).name, "caf\xef\xbf\xbd");
  EXPECT_EQ(std::get<std::vector<std::string>>(span.events.at(0).attributes.at("v"))[1], "caf\xef\xbf\xbd");
  EXPECT_EQ(span.status_message, "caf\xef\xbf\xbd");
}

TEST(Status, IsNoLongerChangedOnceItIsOkAndNeverUnset) {
  const RecordedTrace trace = record([] {
    auto ok = managed_span(SpanGroup::step, "ok");
    ok.set_status(StatusCode::ok);
    ok.set_status(StatusCode::error, "too late");
    ok.set_status(StatusCode::unset);
    auto failed = managed_span(SpanGroup::step, "failed");
    failed.set_status(StatusCode::error, "loss is NaN");
    failed.set_status(StatusCode::unset);
  });
  EXPECT_EQ(trace.only("ok").status, 1);
  EXPECT_EQ(trace.only("ok").status_message, "");
  EXPECT_EQ(trace.only("failed").status, 2);
  EXPECT_EQ(trace.only("failed").status_message, "loss is NaN");
}

TEST(Status, IsWhatTheProgramSetLast) {
  const RecordedTrace trace = record([] {
    auto ok = managed_span(SpanGroup::step, "ok");
    ok.set_status(StatusCode::error, "not yet");
    ok.set_status(StatusCode::ok, "only errors are described");
    auto failed = managed_span(SpanGroup::step, "failed");
    failed.set_status(StatusCode::error, "loss is NaN");
  });
  EXPECT_EQ(trace.only("ok").status, 1);
  EXPECT_EQ(trace.only("ok").status_message, "");
  EXPECT_EQ(trace.only("failed").status, 2);
  EXPECT_EQ(trace.only("failed").status_message, "loss is NaN");
}

TEST(Names, OfEqualContentAreOne) {
  static const char first[] = "same name", second[] = "same name";
  const RecordedTrace trace = record([] {
    auto a = managed_span(SpanGroup::step, "same name");
    auto b = managed_span(SpanGroup::step, Name(std::string_view(first)));
    auto c = managed_span(SpanGroup::step, std::string("same ") + "name");
    char buffer[] = "same name";
    auto d = managed_span(SpanGroup::step, buffer);
    EXPECT_EQ(Name("same name").id(), Name(std::string_view(second)).id());
  });
  EXPECT_EQ(trace.count("same name"), 4u);
}

TEST(Names, MadeAtRunTimeMayBeMany) {
  const RecordedTrace trace = record([] {
    for (int i = 0; i < 10'000; ++i) auto span = managed_span(SpanGroup::step, "name " + std::to_string(i));
    auto empty = managed_span(SpanGroup::step, "");
  });
  EXPECT_EQ(trace.spans.size(), 10'001u);
  EXPECT_EQ(trace.only("name 9999").name, "name 9999");
  EXPECT_EQ(trace.count(""), 1u);
}

}  // namespace
}  // namespace lens::tests
