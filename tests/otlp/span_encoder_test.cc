// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/span_encoder.h"

#include <gtest/gtest.h>

#include "lens/span.h"
#include "src/otlp/envelope.h"
#include "tests/support/recorded_span.h"

namespace lens::otlp {
namespace {

using namespace detail;
using tests::RecordedSpan;

constexpr std::string_view names[] = {"?", "span", "key", "other", "token"};

class SpanEncoderTest : public testing::Test {
 protected:
  template <class... Items>
  void add(const Items&... items) {
    (
        [&] {
          const std::size_t begin = items_.size();
          items_.resize(begin + items.bytes());
          items.write(items_.data() + begin);
        }(),
        ...);
  }
  RecordedSpan encoded() {
    SpanEncoder encoder([](std::uint32_t id) { return id < std::size(names) ? names[id] : names[0]; },
                        [](std::uint64_t ticks) { return std::int64_t(ticks); }, limits_, {"token"});
    span_.items = items_;
    span_.name = 1;
    base::Buffer out, again;
    encoder.encode(span_, out);
    encoder.encode(span_, again);  // knows the names now, and takes a plain span's own way
    EXPECT_EQ(again.view(), out.view());
    const Envelope envelope({{"service.name", "nemo"}}, "lens", "1");
    auto request = tests::read_request(envelope.request(out.view()));
    EXPECT_EQ(request.scope_name, "lens");
    EXPECT_EQ(request.resource.at("service.name"), AttributeValue{std::string("nemo")});
    EXPECT_EQ(request.spans.size(), 1u);
    return request.spans.at(0);
  }

  SpanRecord span_;
  Limits limits_;
  std::vector<std::byte> items_;
};

TEST_F(SpanEncoderTest, WritesIdsTimesAndFlags) {
  span_.trace = {model::big_endian(1), model::big_endian(2)};
  span_.span = model::big_endian(3);
  span_.start_unix_ns = 100;
  span_.end_unix_ns = 250;
  span_.flags = 3;
  RecordedSpan span = encoded();
  EXPECT_EQ(span.trace_id, "00000000000000010000000000000002");
  EXPECT_EQ(span.span_id, "0000000000000003");
  EXPECT_EQ(span.parent_id, "");
  EXPECT_EQ(span.start_ns, 100u);
  EXPECT_EQ(span.end_ns, 250u);
  EXPECT_EQ(span.flags, 3u);
  EXPECT_EQ(span.kind, 1);
  span_.parent = model::big_endian(4);
  EXPECT_EQ(encoded().flags, 0x103u);
  span_.parent_is_remote = true;
  EXPECT_EQ(encoded().flags, 0x303u);
  EXPECT_EQ(encoded().parent_id, "0000000000000004");
}

TEST_F(SpanEncoderTest, WritesTextsOfEveryLengthOfALength) {
  for (std::size_t size : {0u, 1u, 100u, 127u, 128u, 16'000u, 16'383u, 16'384u, 65'535u}) {
    items_.clear();
    const std::string text(size, 'x');
    add(TextItem(2, text), TextArrayItem<std::string>{{3, ItemType::string_array, 0, 1}, &text});
    const RecordedSpan span = encoded();
    EXPECT_EQ(span.at<std::string>("key"), text);
    EXPECT_EQ(span.at<std::vector<std::string>>("other"), std::vector<std::string>{text});
  }
}

TEST_F(SpanEncoderTest, WritesPlainSpansWhole) {
  const std::uint64_t numbers[] = {0, 127, 128, 1u << 31, std::uint64_t(INT64_MAX), UINT64_MAX};
  for (const std::uint64_t number : numbers) {
    for (const std::size_t size : {0u, 1u, 7u, 8u, 127u, 128u, 65'535u}) {
      items_.clear();
      const std::string text(size, 'x');
      add(ScalarItem{{2, ItemType::integer, 0, 0}, number}, TextItem(3, text), TextItem(4, text));
      const RecordedSpan span = encoded();
      EXPECT_EQ(span.at<std::int64_t>("key"), std::int64_t(number));
      EXPECT_EQ(span.at<std::string>("other"), text);
      EXPECT_EQ(span.at<std::string>("token"), "[REDACTED]");
    }
    items_.clear();
    add(ScalarItem{{2, ItemType::unsigned_integer, 0, 0}, number}, ScalarItem{{3, ItemType::boolean, 0, 0}, number & 1},
        ScalarItem{{1, ItemType::floating, 0, 0}, __builtin_bit_cast(std::uint64_t, double(number))});
    const RecordedSpan span = encoded();
    if (number > std::uint64_t(INT64_MAX))
      EXPECT_EQ(span.at<std::string>("key"), std::to_string(number));
    else
      EXPECT_EQ(span.at<std::int64_t>("key"), std::int64_t(number));
    EXPECT_EQ(span.at<bool>("other"), (number & 1) != 0);
    EXPECT_EQ(span.at<double>("span"), double(number));
  }
}

TEST_F(SpanEncoderTest, MarksTruncationAndInversion) {
  span_.start_unix_ns = 500;
  span_.end_unix_ns = 400;
  span_.truncated = true;
  span_.truncation_reason = "because";
  const RecordedSpan span = encoded();
  EXPECT_EQ(span.end_ns, 500u);
  EXPECT_TRUE(span.at<bool>("nemo.span.truncated"));
  EXPECT_TRUE(span.at<bool>("nemo.span.inverted"));
  EXPECT_EQ(std::get<std::string>(span.events.at(0).attributes.at("reason")), "because");
}

TEST_F(SpanEncoderTest, NeverReadsBeyondItems) {
  const std::string texts[] = {"one", "a longer second element"};
  add(ScalarItem{{2, ItemType::integer, 0, 0}, 5}, TextItem(4, "secret"),
      TextArrayItem<std::string>{{3, ItemType::string_array, 0, 2}, texts});
  const std::vector<std::byte> whole = items_;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    items_ = std::vector<std::byte>(whole.begin(), whole.begin() + std::ptrdiff_t(size));
    items_.shrink_to_fit();  // so that a sanitizer sees one byte too many
    EXPECT_EQ(encoded().has("other"), size == whole.size());
  }
}

TEST_F(SpanEncoderTest, TakesNoHarmFromANameOrCountThatCannotBe) {
  add(ScalarItem{{0xffffffff, ItemType::integer, 0, 0}, 5});
  const ItemHeader too_many{2, ItemType::string_array, 0, 0xffff};
  const std::size_t begin = items_.size();
  items_.resize(begin + sizeof too_many);
  std::memcpy(items_.data() + begin, &too_many, sizeof too_many);
  EXPECT_EQ(encoded().at<std::int64_t>("?"), 5);
}

// Of a type that no item has, or has elsewhere, with nothing behind its header.
TEST_F(SpanEncoderTest, TakesNoAttributeOfATypeThatCannotBe) {
  for (int type = 0; type < 256; ++type) {
    struct {
      RecordHeader event;
      ItemHeader item;
    } record{{1, 1, RecordHeader::form_of(24, RecordKind::event)}, {2, ItemType(type), 0, 0}};
    items_ = std::vector<std::byte>(sizeof record.item);
    std::memcpy(items_.data(), &record.item, sizeof record.item);
    std::vector<std::byte> later(sizeof record);
    std::memcpy(later.data(), &record, sizeof record);
    span_.later = later;
    const bool is_text_or_array = type >= int(ItemType::string) && type <= int(ItemType::string_array);
    const bool is_attribute = is_text_or_array || type == int(ItemType::unsigned_array);
    const RecordedSpan span = encoded();
    EXPECT_EQ(span.has("key"), is_attribute) << type;
    EXPECT_EQ(span.events.at(0).attributes.contains("key"), is_attribute) << type;
  }
}

}  // namespace
}  // namespace lens::otlp
