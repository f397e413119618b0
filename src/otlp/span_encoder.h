// SPDX-License-Identifier: Apache-2.0
// From a span as it lies in the rings to the bytes of an OTLP Span. Spans come by the million, so this does not go
// through a general writer: names and attribute keys are encoded once and copied ever after.
//
// Threads:   one at a time.
// Ownership: a SpanRecord borrows the ring's bytes for the call.
// Errors:    std::bad_alloc only. Strings that are not UTF-8 are repaired: receivers refuse a whole request for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lens/recorder.h"
#include "src/base/buffer.h"
#include "src/base/utf8.h"
#include "src/model/identity.h"

namespace lens::otlp {

/// How much a span may carry; what is beyond is left out and counted in the span's dropped_… fields.
struct Limits {
  std::size_t attributes = 128;
  std::size_t events = 128;
  std::size_t links = 128;
  std::size_t event_attributes = 128;
  std::size_t link_attributes = 128;
  std::size_t value_characters = std::numeric_limits<std::size_t>::max();
};

/// Which parts of a span, at least one of each, found no memory while it was open.
struct LostParts {
  bool attributes : 1 = false;
  bool events : 1 = false;
  bool links : 1 = false;
  bool any() const noexcept { return attributes || events || links; }
};

struct SpanRecord {
  model::TraceWords trace{};
  std::uint64_t span = 0;    // id as it lies in memory
  std::uint64_t parent = 0;  // 0: a root
  std::uint8_t flags = 0;    // W3C trace flags
  bool parent_is_remote = false;
  LostParts lost{};
  std::uint32_t name = 0;  // interned
  std::int64_t start_unix_ns = 0;
  std::int64_t end_unix_ns = 0;
  std::span<const std::byte> items;  // behind the begin record
  std::span<const std::byte> later;  // whole records that came for the span, in order
  bool truncated = false;            // ended by shutdown: marked so
  std::string_view truncation_reason = {};
};

class SpanEncoder {
 public:
  /// The text of an interned name; asked once per name.
  using NameSource = std::function<std::string_view(std::uint32_t)>;
  /// Unix time of a record's ticks.
  using TimeSource = std::function<std::int64_t(std::uint64_t)>;

  SpanEncoder(NameSource names, TimeSource times, Limits limits, std::vector<std::string> redacted_keys);

  /// The W3C tracestate of a trace, empty for none: asked for every span and link from now on.
  using TraceStateSource = std::function<std::string(const TraceId&)>;
  void set_trace_states(TraceStateSource source) { trace_states_ = std::move(source); }

  /// Appends the span as an element of ScopeSpans.spans: tag, length, message.
  void encode(const SpanRecord& span, base::Buffer& out);

 private:
  // A field that is encoded once and copied ever after. Short ones, which nearly all are, have room behind them to be
  // copied as a whole, without a call and without looking at their size.
  struct Field {
    static constexpr std::size_t short_bytes = 48;
    std::string bytes;
    std::byte* put(std::byte* at) const noexcept {
      if (is_short()) [[likely]]
        std::memcpy(at, bytes.data(), short_bytes);
      else
        std::memcpy(at, bytes.data(), size);
      return at + size;
    }
    bool is_short() const noexcept { return size <= short_bytes; }
    std::size_t size = 0;  // of the field; `bytes` has at least `short_bytes`
  };
  // The most that an attribute takes beside its text: a short key, tags, lengths, and a scalar.
  static constexpr std::size_t plain_attribute_bytes = Field::short_bytes + 48;
  struct Fragment {
    Field name;  // field 5 of a Span with this name
    Field key;   // field 1 of a KeyValue with this key
    bool known = false;
    bool redacted = false;
  };
  struct Item {
    detail::ItemHeader header;
    const std::byte* payload;
  };
  /// Attributes in order, of equal keys the last.
  class Attributes {
   public:
    void clear() noexcept {
      items_.clear();
      seen_ = 0;
    }
    void set(const Item& item) {
      const std::uint64_t bit = std::uint64_t{1} << (item.header.key & 63);
      if ((seen_ & bit) == 0 || !replace(item)) items_.push_back(item);
      seen_ |= bit;
    }
    std::size_t size() const noexcept { return items_.size(); }
    const Item& operator[](std::size_t i) const noexcept { return items_[i]; }

   private:
    bool replace(const Item& item) noexcept;
    std::vector<Item> items_;
    std::uint64_t seen_ = 0;  // keys, by their lower bits: a clear bit spares the search
  };
  struct Event {
    std::uint32_t name;
    std::uint64_t ticks;
    Attributes attributes;
  };
  struct Link {
    Item context;
    Attributes attributes;
  };
  /// How many records about a span found no room: each counts as one, whatever it held. Links count one by one.
  struct Lost {
    std::size_t attributes = 0, events = 0, links = 0;
  };
  /// A span's items sorted by what they are; kept between spans for its memory.
  struct Parts {
    Attributes attributes;
    std::vector<Event> events;
    std::vector<Link> links;
    Item kind{};
    Item status{};
    Lost lost;
  };

  static Field encoded_text(std::uint32_t number, std::string_view text);
  const Fragment& fragment(std::uint32_t id) {
    if (id < fragments_.size() && fragments_[id].known) [[likely]]
      return fragments_[id];
    return make_fragment(id);
  }
  const Fragment& make_fragment(std::uint32_t id);
  void collect(std::span<const std::byte> items);
  void count_lost(detail::RecordKind kind, std::uint64_t count) noexcept;
  void collect_later(std::span<const std::byte> records);
  bool put_plain_span(base::Buffer& out, const SpanRecord& span, const Field& name);
  std::byte* put_plain_attributes(std::byte* at, std::span<const std::byte> items) const;
  static std::byte* put_identity_and_times(std::byte* at, const SpanRecord& span, std::uint64_t kind);
  void put_parts(base::Buffer& out, const SpanRecord& span);
  void put_span_attributes(base::Buffer& out, const SpanRecord& span);
  void put_attributes(base::Buffer& out, std::uint32_t field, std::uint32_t dropped_field, const Attributes& attributes,
                      std::size_t limit, std::size_t lost = 0);
  void put_attribute(base::Buffer& out, std::uint32_t field, const Item& item);
  void put_text_attribute(base::Buffer& out, std::uint32_t field, const Field& key, std::string_view text);
  static std::byte* put_text_attribute(std::byte* at, std::uint32_t field, const Field& key,
                                       std::string_view text) noexcept;
  static std::byte* put_scalar_attribute(std::byte* at, std::uint32_t field, const Field& key,
                                         const Item& item) noexcept;
  void put_array_attribute(base::Buffer& out, std::uint32_t field, const Fragment& key, const Item& item);
  void put_events(base::Buffer& out, const SpanRecord& span);
  void put_links(base::Buffer& out);
  void put_trace_state(base::Buffer& out, const model::TraceWords& trace);
  void set_status(const Item& item);
  void put_status(base::Buffer& out);
  std::string_view valid_text(std::string_view text) { return base::is_ascii(text) ? text : valid_text_slowly(text); }
  std::string_view valid_text_slowly(std::string_view text);
  std::string_view limited(std::string_view text) const noexcept {
    return text.size() <= limits_.value_characters ? text : base::first_characters(text, limits_.value_characters);
  }

  NameSource names_;
  TimeSource times_;
  TraceStateSource trace_states_;  // null: no trace has one
  Limits limits_;
  std::vector<std::string> redacted_keys_;
  std::vector<Fragment> fragments_;
  Field reason_key_;  // of the event that marks a truncated span
  Parts parts_;
  std::string repaired_;
};

}  // namespace lens::otlp
