// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/later_records.h"

#include <gtest/gtest.h>

#include <vector>

#include "lens/span.h"
#include "src/otlp/record_items.h"

namespace lens::assemble {
namespace {

using namespace detail;

/// Records about a span, one behind the other.
class Told {
 public:
  template <class... Items>
  void add(RecordKind kind, const Items&... items) {
    const std::uint64_t size = (sizeof(RecordHeader) + ... + items.bytes());
    const RecordHeader header{1, 1, RecordHeader::form_of(size, kind)};
    bytes_.append(&header, sizeof header);
    (
        [&] {
          std::vector<std::byte> bytes(items.bytes());
          items.write(bytes.data());
          bytes_.append(bytes.data(), bytes.size());
        }(),
        ...);
  }
  std::span<const std::byte> bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  base::Buffer bytes_;
};

ScalarItem number(std::uint32_t key, std::uint64_t value) { return {{key, ItemType::integer, 0, 0}, value}; }

struct Content {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> attributes;
  std::size_t events = 0, links = 0, status = 0;
  std::uint64_t lost_attributes = 0, lost_events = 0, lost_links = 0;
};

Content content_of(std::span<const std::byte> records) {
  Content content;
  while (records.size() >= sizeof(RecordHeader)) {
    RecordHeader header;
    std::memcpy(&header, records.data(), sizeof header);
    EXPECT_LE(header.bytes(), records.size());
    content.events += header.kind() == RecordKind::event;
    content.links += header.kind() == RecordKind::links;
    content.status += header.kind() == RecordKind::status;
    otlp::for_each_item(records.first(header.bytes()).subspan(sizeof header),
                        [&](const ItemHeader& item, const std::byte* payload) {
                          const std::uint64_t word = otlp::word_at(payload);
                          if (item.type == ItemType::integer && header.kind() == RecordKind::attributes)
                            content.attributes.emplace_back(item.key, word);
                          if (item.type != ItemType::lost) return true;
                          if (item.extra == std::uint8_t(RecordKind::event)) content.lost_events += word + 1;
                          if (item.extra == std::uint8_t(RecordKind::links)) content.lost_links += word + 1;
                          if (item.extra == std::uint8_t(RecordKind::attributes)) content.lost_attributes += word + 1;
                          return true;
                        });
    records = records.subspan(header.bytes());
  }
  return content;
}

TEST(LaterRecords, SayTheSameInLess) {
  Told told;
  for (std::uint64_t i = 0; i < 100; ++i) {
    told.add(RecordKind::attributes, number(1, i), number(2, i * 2));
    told.add(RecordKind::event, number(1, i));
    told.add(RecordKind::links, ScalarItem{{0, ItemType::link, 0, 0}, 1}, ScalarItem{{}, 2});
    told.add(RecordKind::status, TextItem(0, "message", ItemType::status, 2));
    told.add(RecordKind::attributes, ScalarItem{{0, ItemType::position, 0, 0}, 64}, number(3, i * 3));
  }
  told.add(RecordKind::lost, ScalarItem{{0, ItemType::lost, std::uint8_t(RecordKind::event), 0}, 6});
  otlp::Limits limits;
  limits.events = 10;
  limits.links = 20;
  base::Buffer once, twice;
  compact(told.bytes(), limits, once);
  compact({once.data(), once.size()}, limits, twice);
  EXPECT_EQ(once.size(), twice.size());
  const Content content = content_of({twice.data(), twice.size()});
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> last{{1, 99}, {2, 198}, {3, 297}};
  EXPECT_EQ(content.attributes, last);
  EXPECT_EQ(content.events, 10u);
  EXPECT_EQ(content.lost_events, 90u + 7u);
  EXPECT_EQ(content.links, 20u);
  EXPECT_EQ(content.lost_links, 80u);
  EXPECT_EQ(content.status, 1u);
  EXPECT_EQ(content.lost_attributes, 0u);
}

TEST(LaterRecords, KeepTheStatusThatHolds) {
  using Codes = std::vector<StatusCode>;
  const auto status_of = [](const Codes& codes) {
    Told told;
    for (const StatusCode code : codes)
      told.add(RecordKind::status, TextItem(0, "message", ItemType::status, std::uint8_t(code)));
    base::Buffer out;
    compact(told.bytes(), {}, out);
    int status = -1;
    if (out.size() > sizeof(RecordHeader))
      otlp::for_each_item({out.data() + sizeof(RecordHeader), out.size() - sizeof(RecordHeader)},
                          [&status](const ItemHeader& item, const std::byte*) {
                            status = item.extra;
                            return true;
                          });
    return status;
  };
  EXPECT_EQ(status_of({StatusCode::error, StatusCode::ok, StatusCode::error}), int(StatusCode::ok));
  EXPECT_EQ(status_of({StatusCode::error, StatusCode::unset}), int(StatusCode::error));
  EXPECT_EQ(status_of({StatusCode::unset}), -1);
}

TEST(LaterRecords, ThatMakeNoSenseAreLeftOut) {
  Told told;
  told.add(RecordKind::attributes, number(1, 1));
  const RecordHeader endless{1, 1, 0};
  base::Buffer damaged, out;
  damaged.append(told.bytes().data(), told.bytes().size());
  damaged.append(&endless, sizeof endless);
  compact({damaged.data(), damaged.size()}, {}, out);
  EXPECT_EQ(content_of({out.data(), out.size()}).attributes.size(), 1u);
}

}  // namespace
}  // namespace lens::assemble
