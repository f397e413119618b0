// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "src/otlp/json.h"
#include "tests/otlp/trace_message.h"

namespace lens::otlp {
namespace {

using namespace lens::tests;

// What is read, written again: the writer's own tests hold it to the protocol.
std::string read_and_write(std::string_view line) {
  std::string json;
  append_json(json, Signal::traces, traces_from_json(line));
  return json;
}

std::string with_value(const std::string& value) {
  return R"({"resourceSpans":[{"resource":{"attributes":[{"key":"k","value":{)" + value + "}}]}}]}";
}

TEST(JsonRead, brings_back_the_message_that_was_written) {
  std::string fields =
      message({bytes_field(4, parent_id), varint_field(6, 1), bytes_field(9, text_attribute("a", "\"\n\xc3\xa9")),
               bytes_field(11, message({fixed64_field(1, 2000), bytes_field(2, "retry")})),
               bytes_field(13, message({bytes_field(1, trace_id), bytes_field(2, parent_id)})),
               bytes_field(15, varint_field(3, 2)), fixed32_field(16, 0x301)});
  std::string request = request_of_span(fields), json;
  append_json(json, Signal::traces, request);
  EXPECT_EQ(read_and_write(json), json);
  EXPECT_EQ(traces_from_json(json).size(), request.size());
}

TEST(JsonRead, brings_back_every_kind_of_value) {
  for (std::string value :
       {R"("stringValue":"text")", R"("boolValue":false)", R"("intValue":"-9007199254740993")", R"("doubleValue":0.1)",
        R"("doubleValue":"NaN")", R"("doubleValue":"-Infinity")", R"("arrayValue":{"values":[{"intValue":"1"}]})",
        R"("bytesValue":"//79")", R"("bytesValue":"Zg==")"}) {
    EXPECT_EQ(read_and_write(with_value(value)), with_value(value));
  }
}

TEST(JsonRead, brings_back_log_records) {
  const std::string line =
      R"({"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1","severityNumber":9,"severityText":"INFO",)"
      R"("body":{"stringValue":"b"},"attributes":[{"key":"k","value":{"intValue":"1"}}],"droppedAttributesCount":2,)"
      R"("flags":3,"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0001020304050607",)"
      R"("observedTimeUnixNano":"2","eventName":"e"}]}]}]})";
  std::string json;
  append_json(json, Signal::logs, from_json(Signal::logs, line));
  EXPECT_EQ(json, line);
  EXPECT_EQ(from_json(Signal::logs, R"({"resourceSpans":[{}]})"), "");
}

// Contract: 7.json-read
TEST(JsonRead, takes_integers_that_are_not_strings) {
  EXPECT_EQ(read_and_write(with_value(R"("intValue":7)")), with_value(R"("intValue":"7")"));
}

// Contract: 7.json-read
TEST(JsonRead, takes_ids_in_upper_case) {
  std::string upper = R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"ABCDEF0123456789"}]}]}]})";
  EXPECT_EQ(read_and_write(upper), R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"abcdef0123456789"}]}]}]})");
}

// Contract: 7.json-read
TEST(JsonRead, ignores_unknown_names_and_nulls) {
  EXPECT_EQ(read_and_write(R"({"future":{"a":[1]},"resourceSpans":[{"resource":null,"schemaUrl":"u"}]})"),
            R"({"resourceSpans":[{"schemaUrl":"u"}]})");
}

TEST(JsonRead, takes_a_line_of_another_signal_for_an_empty_trace) {
  EXPECT_EQ(traces_from_json(R"({"resourceMetrics":[{}]})"), "");
}

TEST(JsonRead, repairs_bytes_that_are_not_utf8) {
  EXPECT_EQ(read_and_write(with_value("\"stringValue\":\"\xff\"")), with_value("\"stringValue\":\"\xef\xbf\xbd\""));
}

TEST(JsonRead, refuses_what_has_the_wrong_shape) {
  for (std::string line : {"", "{", "[]", "7", R"({"resourceSpans":{}})", R"({"resourceSpans":[7]})",
                           R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"xy"}]}]}]})",
                           R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"abc"}]}]}]})",
                           R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"12x"}]}]}]})"}) {
    EXPECT_THROW(traces_from_json(line), DecodeError) << line;
  }
  EXPECT_THROW(traces_from_json(with_value(R"("boolValue":"true")")), DecodeError);
  EXPECT_THROW(traces_from_json(with_value(R"("doubleValue":"infinite")")), DecodeError);
  EXPECT_THROW(traces_from_json(with_value(R"("bytesValue":"*")")), DecodeError);
}

TEST(JsonRead, refuses_values_nested_without_end) {
  std::string value = R"("intValue":1)";
  for (int depth = 0; depth < 200; ++depth) value = R"("arrayValue":{"values":[{)" + value + "}]}";
  EXPECT_THROW(traces_from_json(with_value(value)), DecodeError);
}

}  // namespace
}  // namespace lens::otlp
