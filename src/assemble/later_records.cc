// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/later_records.h"

#include <cstring>
#include <unordered_map>
#include <vector>

#include "src/otlp/record_items.h"

namespace lens::assemble {
namespace {

using namespace detail;
using Bytes = std::span<const std::byte>;

class Compaction {
 public:
  Compaction(const otlp::Limits& limits, base::Buffer& out) : limits_(limits), out_(out) {}

  void take(Bytes records) {
    while (records.size() >= sizeof(RecordHeader)) {
      RecordHeader header;
      std::memcpy(&header, records.data(), sizeof header);
      if (header.bytes() < sizeof header || header.bytes() > records.size()) return;
      take_one(header.kind(), records.first(header.bytes()));
      records = records.subspan(header.bytes());
    }
  }

  void finish() {
    if (!attributes_.empty()) put_attributes();
    out_.append(status_.data(), status_.size());
    put_lost(RecordKind::attributes, lost_attributes_);
    put_lost(RecordKind::event, lost_events_);
    put_lost(RecordKind::links, lost_links_);
  }

 private:
  void take_one(RecordKind kind, Bytes record) {
    const Bytes items = record.subspan(sizeof(RecordHeader));
    switch (kind) {
      case RecordKind::event: return keep_first(record, 1, events_, limits_.events, lost_events_);
      case RecordKind::links: return keep_first(record, links_in(items), links_, limits_.links, lost_links_);
      case RecordKind::status: return take_status(record, items);
      case RecordKind::lost: return take_lost(items);
      default: return take_attributes(items);
    }
  }

  void keep_first(Bytes record, std::size_t count, std::size_t& kept, std::size_t limit, std::uint64_t& lost) {
    if (kept >= limit) {
      lost += count;
      return;
    }
    kept += count;
    out_.append(record.data(), record.size());
  }

  static std::size_t links_in(Bytes items) {
    std::size_t count = 0;
    otlp::for_each_item(items, [&](const ItemHeader& item, const std::byte*) {
      count += item.type == ItemType::link;
      return true;
    });
    return count;
  }

  void take_lost(Bytes items) {
    otlp::for_each_item(items, [&](const ItemHeader& item, const std::byte* payload) {
      if (item.type != ItemType::lost) return true;
      const std::uint64_t count = otlp::word_at(payload) + 1;
      switch (RecordKind(item.extra)) {
        case RecordKind::event: lost_events_ += count; break;
        case RecordKind::links: lost_links_ += count; break;
        default: lost_attributes_ += count;
      }
      return true;
    });
  }

  void take_status(Bytes record, Bytes items) {
    otlp::for_each_item(items, [&](const ItemHeader& item, const std::byte*) {
      if (item.type != ItemType::status || !otlp::replaces_status(status_.empty() ? nullptr : &status_item_, item))
        return true;
      status_ = record;
      status_item_ = item;
      return true;
    });
  }

  // In the order in which their keys came first, as the encoder writes them.
  void take_attributes(Bytes items) {
    const std::byte* const end = items.data() + items.size();
    otlp::for_each_item(items, [&](const ItemHeader& item, const std::byte* payload) {
      if (!otlp::is_attribute(item.type)) return true;
      const Bytes whole{payload - sizeof item, sizeof item + otlp::payload_bytes(item, payload, end)};
      const auto [place, is_new] = places_.try_emplace(item.key, attributes_.size());
      if (is_new)
        attributes_.push_back(whole);
      else
        attributes_[place->second] = whole;
      return true;
    });
  }

  void put_attributes() {
    std::uint64_t bytes = sizeof(RecordHeader);
    for (const Bytes item : attributes_) bytes += item.size();
    const RecordHeader header{0, 0, RecordHeader::form_of(bytes, RecordKind::attributes)};
    out_.append(&header, sizeof header);
    for (const Bytes item : attributes_) out_.append(item.data(), item.size());
  }

  void put_lost(RecordKind kind, std::uint64_t count) {
    if (count == 0) return;
    const LostNote note(kind, count);
    out_.append(note.bytes().data(), note.bytes().size());
  }

  const otlp::Limits& limits_;
  base::Buffer& out_;
  std::vector<Bytes> attributes_;
  std::unordered_map<std::uint32_t, std::size_t> places_;  // in `attributes_`, by key
  Bytes status_;
  ItemHeader status_item_{};  // of it
  std::size_t events_ = 0, links_ = 0;
  std::uint64_t lost_attributes_ = 0, lost_events_ = 0, lost_links_ = 0;
};

}  // namespace

void compact(Bytes records, const otlp::Limits& limits, base::Buffer& out) {
  out.clear();
  Compaction compaction(limits, out);
  compaction.take(records);
  compaction.finish();
}

}  // namespace lens::assemble
