// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "src/otlp/json.h"
#include "tests/otlp/trace_message.h"

namespace lens::otlp {
namespace {

using namespace lens::tests;

std::string to_json(const std::string& request) {
  std::string json;
  append_json(json, Signal::traces, request);
  return json;
}

std::string value_json(const std::string& value) {
  std::string attribute = message({bytes_field(1, "k"), bytes_field(2, value)});
  std::string json = to_json(bytes_field(1, bytes_field(1, bytes_field(1, attribute))));
  std::string before = R"({"resourceSpans":[{"resource":{"attributes":[{"key":"k","value":{)", after = "}}]}}]}";
  EXPECT_TRUE(json.starts_with(before) && json.ends_with(after)) << json;
  return json.substr(before.size(), json.size() - before.size() - after.size());
}

// Contract: 7.json-write
TEST(JsonWrite, writes_a_span_as_the_protocol_has_it) {
  std::string fields = message({bytes_field(4, parent_id), varint_field(6, 1),
                                bytes_field(9, integer_attribute("megatron.iteration", 7)),
                                bytes_field(15, varint_field(3, 2)), fixed32_field(16, 256)});
  EXPECT_EQ(
      to_json(request_of_span(fields)),
      R"({"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[{"traceId":"30313233343536373839616263646566",)"
      R"("spanId":"4142434445464748","parentSpanId":"6162636465666768","name":"step","kind":1,)"
      R"("startTimeUnixNano":"1000","endTimeUnixNano":"3000",)"
      R"("attributes":[{"key":"megatron.iteration","value":{"intValue":"7"}}],"status":{"code":2},"flags":256}]}]}]})");
}

TEST(JsonWrite, gathers_a_repeated_field_that_is_scattered_over_the_message) {
  std::string fields = message(
      {bytes_field(9, integer_attribute("a", 1)), varint_field(6, 1), bytes_field(9, integer_attribute("b", 2))});
  EXPECT_NE(to_json(request_of_span(fields))
                .find(R"([{"key":"a","value":{"intValue":"1"}},{"key":"b","value":{"intValue":"2"}}])"),
            std::string::npos);
}

TEST(JsonWrite, leaves_an_empty_parent_out) {
  EXPECT_EQ(to_json(request_of_span(bytes_field(4, ""))).find("parentSpanId"), std::string::npos);
}

// Contract: 7.json-write
TEST(JsonWrite, writes_every_kind_of_value) {
  EXPECT_EQ(value_json(bytes_field(1, "text")), R"("stringValue":"text")");
  EXPECT_EQ(value_json(varint_field(2, 1)), R"("boolValue":true)");
  EXPECT_EQ(value_json(varint_field(3, -9007199254740993)), R"("intValue":"-9007199254740993")");
  EXPECT_EQ(value_json(bytes_field(5, bytes_field(1, varint_field(3, 1)))),
            R"("arrayValue":{"values":[{"intValue":"1"}]})");
  EXPECT_EQ(value_json(bytes_field(5, "")), R"("arrayValue":{"values":[]})");
  EXPECT_EQ(value_json(bytes_field(6, bytes_field(1, integer_attribute("n", 1)))),
            R"("kvlistValue":{"values":[{"key":"n","value":{"intValue":"1"}}]})");
  EXPECT_EQ(value_json(""), "");
}

TEST(JsonWrite, writes_doubles_so_that_they_read_back_the_same) {
  EXPECT_EQ(value_json(double_field(4, 0.1)), R"("doubleValue":0.1)");
  EXPECT_EQ(value_json(double_field(4, 100.0)), R"("doubleValue":100)");
  EXPECT_EQ(value_json(double_field(4, -0.0)), R"("doubleValue":-0)");
  EXPECT_EQ(value_json(double_field(4, std::numeric_limits<double>::quiet_NaN())), R"("doubleValue":"NaN")");
  EXPECT_EQ(value_json(double_field(4, std::numeric_limits<double>::infinity())), R"("doubleValue":"Infinity")");
  EXPECT_EQ(value_json(double_field(4, -std::numeric_limits<double>::infinity())), R"("doubleValue":"-Infinity")");
}

TEST(JsonWrite, writes_bytes_as_base64_with_padding) {
  EXPECT_EQ(value_json(bytes_field(7, "")), R"("bytesValue":"")");
  EXPECT_EQ(value_json(bytes_field(7, "f")), R"("bytesValue":"Zg==")");
  EXPECT_EQ(value_json(bytes_field(7, "fo")), R"("bytesValue":"Zm8=")");
  EXPECT_EQ(value_json(bytes_field(7, "foo")), R"("bytesValue":"Zm9v")");
  EXPECT_EQ(value_json(bytes_field(7, "\xff\xfe\xfd")), R"("bytesValue":"//79")");
}

TEST(JsonWrite, escapes_what_a_line_of_json_cannot_hold) {
  EXPECT_EQ(value_json(bytes_field(1, "a\"b\\c\nd\te\x01")), R"("stringValue":"a\"b\\c\nd\te\u0001")");
  EXPECT_EQ(value_json(bytes_field(1, "\xc3\xa9 \xff \xed\xa0\x80")),
            "\"stringValue\":\"\xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(JsonWrite, appends_nothing_of_a_malformed_message) {
  std::string json = "before";
  EXPECT_THROW(append_json(json, Signal::traces, "\x0a\x7f"), DecodeError);
  EXPECT_EQ(json, "before");
}

TEST(JsonWrite, refuses_values_nested_without_end) {
  std::string value;
  for (int depth = 0; depth < 200; ++depth) value = bytes_field(5, bytes_field(1, value));
  EXPECT_THROW(value_json(value), DecodeError);
}

}  // namespace
}  // namespace lens::otlp
