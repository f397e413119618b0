// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/otlp/trace_message.h"

namespace lens::otlp {
namespace {

using namespace lens::tests;
using testing::ElementsAre;
using Kind = AttributeValue::Kind;

// Writes down what is visited, and looks at each span while it is valid.
class Recorder : public TraceVisitor {
 public:
  explicit Recorder(std::function<void(const Span&)> look = {}) : look_(std::move(look)) {}

  void on_resource(Encoded attributes) override {
    auto rank = find_attribute(attributes, "dl.rank");
    calls.push_back("resource " + (rank ? std::to_string(rank->integer) : "without rank"));
  }
  void on_scope(const Scope& scope) override { calls.push_back("scope " + std::string(scope.name)); }
  void on_span(const Span& span) override {
    calls.push_back("span " + std::string(span.name));
    if (look_) look_(span);
  }

  std::vector<std::string> calls;

 private:
  std::function<void(const Span&)> look_;
};

void decode(const std::string& request, TraceVisitor& visitor) { TraceDecoder().decode(request, visitor); }

TEST(Decode, gives_every_field_of_a_span) {
  std::string fields =
      message({bytes_field(3, "vendor=1"), bytes_field(4, parent_id), varint_field(6, 3),
               bytes_field(15, message({bytes_field(2, "no data"), varint_field(3, 2)})), fixed32_field(16, 0x301),
               bytes_field(13, message({bytes_field(1, trace_id), bytes_field(2, parent_id)})),
               bytes_field(11, message({fixed64_field(1, 2000), bytes_field(2, "retry")}))});
  int seen = 0;
  Recorder recorder([&](const Span& span) {
    ++seen;
    EXPECT_EQ(span.trace_id, trace_id);
    EXPECT_EQ(span.span_id, span_id);
    EXPECT_EQ(span.parent_span_id, parent_id);
    EXPECT_EQ(span.trace_state, "vendor=1");
    EXPECT_EQ(span.kind, 3);
    EXPECT_EQ(span.start_ns, 1000u);
    EXPECT_EQ(span.end_ns, 3000u);
    EXPECT_EQ(span.status, StatusCode::error);
    EXPECT_EQ(span.status_message, "no data");
    EXPECT_EQ(span.flags, 0x301u);
    ASSERT_EQ(span.events.size(), 1u);
    EXPECT_EQ(decode_event(span.events[0]).name, "retry");
    EXPECT_EQ(decode_event(span.events[0]).time_ns, 2000u);
    ASSERT_EQ(span.links.size(), 1u);
    EXPECT_EQ(decode_link(span.links[0]).trace_id, trace_id);
    EXPECT_EQ(decode_link(span.links[0]).span_id, parent_id);
  });
  decode(request_of_span(fields), recorder);
  EXPECT_EQ(seen, 1);
}

TEST(Decode, tells_every_kind_of_attribute_value) {
  std::string attribute;  // what the value points into
  auto value_of = [&attribute](const std::string& value) {
    attribute = message({bytes_field(1, "key"), bytes_field(2, value)});
    return decode_attribute(attribute).value;
  };
  EXPECT_EQ(value_of(bytes_field(1, "text")).bytes, "text");
  EXPECT_EQ(value_of(varint_field(2, 1)).kind, Kind::boolean);
  EXPECT_EQ(value_of(varint_field(2, 1)).integer, 1);
  EXPECT_EQ(value_of(varint_field(3, -7)).integer, -7);
  EXPECT_EQ(value_of(double_field(4, 2.5)).floating, 2.5);
  EXPECT_EQ(value_of(bytes_field(5, "")).kind, Kind::array);
  EXPECT_EQ(value_of(bytes_field(6, "")).kind, Kind::map);
  EXPECT_EQ(value_of(bytes_field(7, "\xff")).kind, Kind::bytes);
  EXPECT_EQ(value_of("").kind, Kind::empty);
}

TEST(Decode, finds_an_attribute_whose_value_stands_before_its_key) {
  std::string attribute = message({bytes_field(2, varint_field(3, 42)), bytes_field(1, "answer")});
  std::string_view encoded[] = {attribute};
  EXPECT_EQ(find_attribute(encoded, "answer")->integer, 42);
  EXPECT_FALSE(find_attribute(encoded, "question"));
}

TEST(Decode, visits_the_resource_and_the_scope_before_spans_that_stand_before_them) {
  std::string span = message({fixed64_field(8, 3), fixed64_field(7, 1), bytes_field(5, "backwards"), bytes_field(4, ""),
                              bytes_field(2, span_id), bytes_field(1, trace_id), bytes_field(15, "")});
  std::string scope_spans = message({bytes_field(2, span), bytes_field(1, bytes_field(1, "torch"))});
  std::string resource = bytes_field(1, integer_attribute("dl.rank", 5));
  Recorder recorder([](const Span& each) {
    EXPECT_TRUE(each.parent_span_id.empty());
    EXPECT_EQ(each.status, StatusCode::unset);
  });
  decode(bytes_field(1, message({bytes_field(2, scope_spans), bytes_field(1, resource)})), recorder);
  EXPECT_THAT(recorder.calls, ElementsAre("resource 5", "scope torch", "span backwards"));
}

TEST(Decode, makes_the_calls_for_a_resource_and_a_scope_that_are_left_out) {
  std::string span = message({bytes_field(1, trace_id), bytes_field(2, span_id)});
  Recorder recorder;
  decode(bytes_field(1, bytes_field(2, bytes_field(2, span))), recorder);
  EXPECT_THAT(recorder.calls, ElementsAre("resource without rank", "scope ", "span "));
}

TEST(Decode, does_not_let_lists_of_one_span_leak_into_the_next) {
  std::string first = message({bytes_field(1, trace_id), bytes_field(2, span_id),
                               bytes_field(9, integer_attribute("a", 1)), bytes_field(11, ""), bytes_field(13, "")});
  std::string second = message({bytes_field(1, trace_id), bytes_field(2, span_id)});
  std::vector<std::size_t> sizes;
  Recorder recorder(
      [&](const Span& span) { sizes.push_back(span.attributes.size() + span.events.size() + span.links.size()); });
  decode(bytes_field(1, bytes_field(2, message({bytes_field(2, first), bytes_field(2, second)}))), recorder);
  EXPECT_THAT(sizes, ElementsAre(3, 0));
}

TEST(Decode, skips_fields_that_it_does_not_know) {
  Recorder recorder;
  decode(request_of_span(message({bytes_field(99, "future"), varint_field(98, 1), fixed32_field(97, 2)})), recorder);
  EXPECT_EQ(recorder.calls.back(), "span step");
}

TEST(Decode, refuses_a_message_that_is_cut_short_at_any_byte) {
  std::string request = request_of_span(bytes_field(9, integer_attribute("a", 1)));
  for (std::size_t size = 1; size < request.size(); ++size) {
    Recorder recorder;
    EXPECT_THROW(decode(request.substr(0, size), recorder), DecodeError) << size;
  }
}

TEST(Decode, refuses_a_message_of_metrics) {
  std::string metric = message({bytes_field(1, "loss"), bytes_field(2, "the loss"), bytes_field(3, "1")});
  Recorder recorder;
  EXPECT_THROW(decode(bytes_field(1, bytes_field(2, bytes_field(2, metric))), recorder), DecodeError);
}

}  // namespace
}  // namespace lens::otlp
