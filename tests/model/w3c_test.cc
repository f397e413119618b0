// SPDX-License-Identifier: Apache-2.0
// What the specifications of trace context and baggage call valid, and what not.
#include "src/model/w3c.h"

#include <gtest/gtest.h>

#include "src/base/text.h"

namespace lens::model {
namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736", parent = "00f067aa0ba902b7";
const std::string ids = trace + "-" + parent;
const std::string zeros(32, '0');

// Contract: 5.w3c
TEST(Traceparent, IsReadAndSentAs00) {
  struct Vector {
    std::string header, sent;
  };
  const Vector vectors[] = {
      {"00-" + ids + "-00", "00-" + ids + "-00"},      {"00-" + ids + "-01", "00-" + ids + "-01"},
      {"00-" + ids + "-02", "00-" + ids + "-02"},      {"00-" + ids + "-03", "00-" + ids + "-03"},
      {"00-" + ids + "-ff", "00-" + ids + "-03"},  // unknown flags are sent as 0
      {"00-" + ids + "-08", "00-" + ids + "-00"},      {" \t00-" + ids + "-01\t ", "00-" + ids + "-01"},
      {"01-" + ids + "-01", "00-" + ids + "-01"},  // later versions
      {"cc-" + ids + "-01-more", "00-" + ids + "-01"}, {"cc-" + ids + "-01-", "00-" + ids + "-01"},
      {"fe-" + ids + "-00", "00-" + ids + "-00"},
  };
  for (const auto& [header, sent] : vectors) {
    const SpanContext context = parse_traceparent(header);
    EXPECT_EQ(context.trace_id.hex(), trace) << header;
    EXPECT_EQ(context.span_id.hex(), parent) << header;
    EXPECT_EQ(format_traceparent(context), sent) << header;
    EXPECT_EQ(fault_of_traceparent(header), "") << header;
  }
}

// Contract: 5.w3c
TEST(Traceparent, ThatIsMalformedIsIgnored) {
  const std::string vectors[] = {
      "",
      "00",
      "00-" + ids,
      "00-" + ids + "-1",
      "00-" + ids + "-01-",  // version 00 has nothing behind the flags
      "00-" + ids + "-01-what",
      "00-" + ids + "-01,00-" + ids + "-01",  // two headers
      "cc-" + ids + "-01.what",
      "cc-" + ids + "-01what",
      "ff-" + ids + "-01",
      "FE-" + ids + "-01",
      ".0-" + ids + "-01",
      "0-" + ids + "-01x",
      "00-" + zeros + "-" + parent + "-01",
      "00-" + trace + "-" + zeros.substr(16) + "-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01",
      "00-" + trace + "-00F067AA0BA902B7-01",
      "00-" + ids + "-0A",
      "00-" + ids + "-.0",
      "00-" + trace.substr(1) + "-" + parent + "-011",
      "00-.bf92f3577b34da6a3ce929d0e0e4736-" + parent + "-01",
      "00-" + trace + "-.0f067aa0ba902b7-01",
      "00_" + ids + "_01",
      "00-" + trace + "_" + parent + "-01",
      "00-" + ids + "_01",
  };
  for (const std::string& header : vectors) {
    EXPECT_FALSE(parse_traceparent(header)) << header;
    EXPECT_EQ(format_traceparent(parse_traceparent(header)), "");
    EXPECT_EQ(fault_of_traceparent(header) == "", header == "") << header;
  }
}

std::string tracestate(std::string_view header) { return base::join(parse_tracestate(header), ","); }

std::string members(int count) {
  std::string header;
  for (int i = 1; i <= count; ++i) header += (i > 1 ? ",bar" : "bar") + std::to_string(i) + "=" + std::to_string(i);
  return header;
}

// Contract: 5.w3c
TEST(Tracestate, IsReadMemberByMember) {
  const std::string z256(256, 'z'), value256 = std::string(255, ' ') + "v";
  struct Vector {
    std::string header, members;
  };
  const Vector vectors[] = {
      {"foo=1", "foo=1"},
      {"foo=1,bar=2", "foo=1,bar=2"},
      {"foo=1 \t , \t bar=2, \t baz=3", "foo=1,bar=2,baz=3"},
      {"foo=1\t \t,\t \tbar=2,\t \tbaz=3", "foo=1,bar=2,baz=3"},
      {" foo=1", "foo=1"},
      {"foo=1\t", "foo=1"},
      {"foo=1,", "foo=1"},
      {",foo=1,, ,bar=2", "foo=1,bar=2"},
      {"foo=1,foo=2", "foo=1"},  // the most recent stands first
      {"foo=1,bar=2,foo=3", "foo=1,bar=2"},
      {"0foo=1", "0foo=1"},
      {"a_b-c*d/e=1", "a_b-c*d/e=1"},
      {"t@s@u=1", "t@s@u=1"},  // level 2 gives @ no meaning
      {"7q@vendor=1", "7q@vendor=1"},
      {z256 + "=1", z256 + "=1"},
      {"a=" + value256, "a=" + value256},
      {"foo= !\"#$%&'()*+-./09:;<>?@AZ[\\]^_`az{|}~", "foo= !\"#$%&'()*+-./09:;<>?@AZ[\\]^_`az{|}~"},
      {members(32), members(32)},
  };
  for (const auto& vector : vectors) {
    EXPECT_EQ(tracestate(vector.header), vector.members) << vector.header;
    EXPECT_EQ(fault_of_tracestate(vector.header), "") << vector.header;
  }
}

// Contract: 5.w3c
TEST(Tracestate, WithAMalformedMemberIsIgnored) {
  const std::string vectors[] = {
      "",
      ",",
      "foo",
      "foo=",
      "=1",
      "=",
      "foo =1",
      "FOO=1",
      "foo.bar=1",
      "_foo=1",
      "@foo=1",
      "foo\xc3\xa4=1",
      "foo=1=2",
      "vendor=base64==",
      "foo=\x7f",
      "foo=\xc3\xa4",
      "foo=a\tb",
      "foo=1,bar",
      "foo=1,BAR=2",
      std::string(257, 'z') + "=1",
      "a=" + std::string(257, 'v'),
      members(33),
  };
  for (const std::string& header : vectors) {
    EXPECT_EQ(tracestate(header), "") << header;
    EXPECT_EQ(fault_of_tracestate(header) == "", header == "" || header == ",") << header;
  }
}

// Contract: 5.w3c
TEST(Tracestate, LosesWholeMembersFirstTheLongThenTheLast) {
  const auto member = [](char key, int characters) { return key + ("=" + std::string(characters - 2, 'v')); };
  const auto sent = [](const std::string& header) { return format_tracestate(parse_tracestate(header)); };
  EXPECT_EQ(sent(members(32)), members(32));
  const std::string fitting = member('a', 255) + ',' + member('b', 256);
  ASSERT_EQ(fitting.size(), 512u);
  EXPECT_EQ(sent(fitting), fitting);
  EXPECT_EQ(sent(fitting + "v"), member('a', 255));
  const std::string three = member('a', 128) + ',' + member('b', 128) + ',' + member('c', 128);
  EXPECT_EQ(sent(member('d', 129) + ',' + three), three);
  EXPECT_EQ(sent(three + ',' + member('d', 128)), three);
}

// Contract: 5.launcher-malformed
TEST(Fault, OfATraceContextSaysWhatIsWrong) {
  EXPECT_EQ(fault_of_traceparent("00-" + zeros + "-" + parent + "-01"), "an id of it is all zeros");
  EXPECT_EQ(fault_of_traceparent("ff-" + ids + "-01"), "ff is no version");
  EXPECT_EQ(fault_of_traceparent("00-" + ids + "-01-more"), "it does not end behind the flags");
  EXPECT_EQ(fault_of_traceparent("00-" + trace + "-00F067AA0BA902B7-01"), "a digit of it is not one of 0-9 and a-f");
  EXPECT_EQ(fault_of_traceparent(trace), "it is not version-trace id-span id-flags, of 2, 32, 16 and 2 hex digits");
  EXPECT_EQ(fault_of_tracestate("foo=1, ,BAR=2"), "member 2 of it is not a key in lower case with a value behind =");
  for (const std::string& member : {std::string(257, 'k') + "=v", "k=" + std::string(257, 'v')})
    EXPECT_EQ(fault_of_tracestate("a=1," + member), "member 2 of it has a key or a value of more than 256 characters");
  EXPECT_EQ(fault_of_tracestate("k=" + std::string(256, 'v')), "");
  EXPECT_EQ(fault_of_tracestate(members(33)), "it has more than 32 members");
}

// Contract: 5.w3c
TEST(TraceContext, TracestateStandsAndFallsWithTraceparentButNotTheReverse) {
  const std::string traceparent = "00-" + ids + "-01";
  const Propagation before{{{{1}}, {{2}}, 1}, "old=1", {}};
  EXPECT_EQ(from_w3c({traceparent, "foo=1", ""}, {}, before).tracestate, "foo=1");
  EXPECT_EQ(from_w3c({traceparent, "foo=1=2", ""}, {}, before).context.trace_id.hex(), trace);
  EXPECT_EQ(from_w3c({traceparent, "foo=1=2", ""}, {}, before).tracestate, "");
  EXPECT_EQ(from_w3c({traceparent, "", ""}, {}, before).tracestate, "");  // what was before is another trace's
  EXPECT_EQ(from_w3c({"00-broken", "foo=1", ""}, {}, before), before);
  EXPECT_EQ(from_w3c({"", "foo=1", ""}, {}, before), before);
  EXPECT_EQ(to_w3c({{}, "foo=1", {}}, {}).tracestate, "");
}

using Members = std::vector<BaggageMember>;

// Contract: 5.w3c
TEST(Baggage, IsReadMemberByMember) {
  struct Vector {
    std::string header;
    Members members;
  };
  const Vector vectors[] = {
      {"SomeKey=SomeValue", {{"SomeKey", "SomeValue"}}},
      {"SomeKey=SomeValue;SomeProp", {{"SomeKey", "SomeValue", "SomeProp"}}},
      {"SomeKey=SomeValue;SomeProp=PropVal", {{"SomeKey", "SomeValue", "SomeProp=PropVal"}}},
      {"SomeKey \t = \t SomeValue \t ; \t SomeProp=1;x", {{"SomeKey", "SomeValue", "SomeProp=1;x"}}},
      {"a=1,b=2;p , c = 3", {{"a", "1"}, {"b", "2", "p"}, {"c", "3"}}},
      {"a=1,a=2", {{"a", "1"}, {"a", "2"}}},
      {"k=x=y=", {{"k", "x=y="}}},
      {"k=", {{"k", ""}}},
      {"k=%09%20%22%27;p=%20", {{"k", "\t \"'", "p=%20"}}},
      {"k=%25", {{"k", "%"}}},
      {"k=a+b", {{"k", "a+b"}}},
      {"k=Am%C3%A9lie%f0%9f%98%80", {{"k", "Am\xc3\xa9lie\xf0\x9f\x98\x80"}}},
      {"k=x%FFy", {{"k", "x\xef\xbf\xbdy"}}},  // no UTF-8
      {"k=%C3", {{"k", "\xef\xbf\xbd"}}},
      {"!#$%&'*+-.^_`|~az09=!#$&'()*+-./:<=>?@[]^_`{|}~", {{"!#$%&'*+-.^_`|~az09", "!#$&'()*+-./:<=>?@[]^_`{|}~"}}},
  };
  for (const auto& vector : vectors) {
    EXPECT_EQ(parse_baggage(vector.header), vector.members) << vector.header;
    EXPECT_EQ(fault_of_baggage(vector.header), "") << vector.header;
  }
}

// Contract: 5.w3c
TEST(Baggage, LosesTheMembersThatAreMalformed) {
  const std::string malformed[] = {
      "",       " ",      "key",    "=value", "key;p=1", "k\"y=1", "k y=1",      "k@y=1",  "k\xc3=1", "k=a b",
      "k=a\"b", "k=a\\b", "k=\xc3", "k=%",    "k=%2",    "k=%zz",  "k=1;p=\x01", "k=\x7f", "k=1\x01",
  };
  for (const std::string& member : malformed) {
    EXPECT_EQ(parse_baggage(member), Members{}) << member;
    EXPECT_EQ(parse_baggage("a=1," + member + ",b=2"), (Members{{"a", "1"}, {"b", "2"}})) << member;
    const bool is_blank = member == "" || member == " ";
    EXPECT_EQ(fault_of_baggage("a=1," + member + ",b=2").starts_with("member 2 of it"), !is_blank) << member;
  }
}

// Contract: 5.w3c
TEST(Baggage, IsSentEncodedAndComesBack) {
  const Members sent = {{"plain", "value"}, {"text", "a b,c;d=e\\f\"g%h\xc3\xa9\n"}, {"empty", "", "p=1;q"}};
  const std::string header = format_baggage(sent);
  EXPECT_EQ(header, "plain=value,text=a%20b%2Cc%3Bd=e%5Cf%22g%25h%C3%A9%0A,empty=;p=1;q");
  EXPECT_EQ(parse_baggage(header), sent);
  EXPECT_EQ(format_baggage({{"no token", "1"}, {"", "1"}, {"a", "1", "p,b=2"}, {"b", "1", "p\r\nx: y"}}), "");
}

// Contract: 5.w3c
TEST(Baggage, CarriesSixtyFourMembersAnd8192BytesAndNeverAPart) {
  Members many;
  for (int i = 0; i < 65; ++i) many.push_back({"key" + std::to_string(i), "value"});
  const Members first(many.begin(), many.end() - 1);
  EXPECT_EQ(parse_baggage(format_baggage(many)), first);
  std::string header;
  for (const BaggageMember& member : many) header += (header.empty() ? "" : ",") + member.key + "=" + member.value;
  EXPECT_EQ(parse_baggage(header), first);
  EXPECT_EQ(fault_of_baggage(header), "it has more than 64 members or 8192 bytes");

  const Members fitting = {{"a", std::string(4093, 'x')}, {"b", std::string(4094, 'x')}};
  ASSERT_EQ(format_baggage(fitting).size(), 8192u);
  EXPECT_EQ(parse_baggage(format_baggage(fitting)), fitting);
  const std::string too_long = "a=" + std::string(4093, 'x') + ",b=" + std::string(4095, 'x') + ",c=1";
  EXPECT_EQ(parse_baggage(too_long), (Members{fitting[0], {"c", "1"}}));
  EXPECT_EQ(fault_of_baggage(too_long), "it has more than 64 members or 8192 bytes");
  EXPECT_EQ(fault_of_baggage(format_baggage(fitting)), "");
  EXPECT_EQ(format_baggage({fitting[0], {"b", std::string(4095, 'x')}, {"c", "1"}}), too_long.substr(0, 4095) + ",c=1");
}

// Contract: 5.w3c
TEST(Baggage, IsNeverReplacedByNothing) {
  const Propagation before{{}, "", {{"a", "1"}}};
  EXPECT_EQ(from_w3c({"", "", "broken"}, {}, before), before);
  EXPECT_EQ(from_w3c({"", "", "b=2"}, {}, before).baggage, (Members{{"b", "2"}}));
}

// Contract: 5.w3c
TEST(Propagators, ThatAreOffNeitherReadNorWrite) {
  const Propagation all{{{{1}}, {{2}}, 1}, "foo=1", {{"a", "1"}}};
  const detail::W3cHeaders headers = to_w3c(all, {});
  EXPECT_EQ(from_w3c(headers, {}, {}), all);
  EXPECT_EQ(to_w3c(all, {.trace_context = false}).traceparent + to_w3c(all, {.trace_context = false}).tracestate, "");
  EXPECT_EQ(to_w3c(all, {.baggage = false}).baggage, "");
  EXPECT_EQ(from_w3c(headers, {.trace_context = false}, {}), (Propagation{{}, "", all.baggage}));
  EXPECT_EQ(from_w3c(headers, {.baggage = false}, {}), (Propagation{all.context, all.tracestate, {}}));
}

}  // namespace
}  // namespace lens::model
