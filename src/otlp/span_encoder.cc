// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/span_encoder.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "src/base/utf8.h"
#include "src/otlp/record_items.h"
#include "src/otlp/redaction.h"
#include "src/otlp/wire.h"

namespace lens::otlp {
namespace {

using detail::ItemHeader;
using detail::ItemType;
using detail::RecordHeader;
using detail::RecordKind;
using namespace wire;

// Field numbers of opentelemetry.proto.trace.v1.
namespace field {
constexpr std::uint32_t scope_spans_spans = 2;
constexpr std::uint32_t trace_id = 1, span_id = 2, trace_state = 3, parent_span_id = 4, name = 5, kind = 6, start = 7,
                        end = 8, attributes = 9, dropped_attributes = 10, events = 11, dropped_events = 12, links = 13,
                        dropped_links = 14, status = 15, flags = 16;
constexpr std::uint32_t event_time = 1, event_name = 2, event_attributes = 3, event_dropped_attributes = 4;
constexpr std::uint32_t link_attributes = 4, link_dropped_attributes = 5, link_flags = 6;
constexpr std::uint32_t status_message = 2, status_code = 3;
constexpr std::uint32_t key = 1, value = 2;
constexpr std::uint32_t string_value = 1, bool_value = 2, int_value = 3, double_value = 4, array_value = 5;
constexpr std::uint32_t array_values = 1;
}  // namespace field

// The upper bits of Span.flags: whether the parent is known to be in another process.
constexpr std::uint32_t parent_remoteness_known = 0x100, parent_is_remote = 0x200;

// Lengths of messages are written into two bytes that are left free for them: nearly all fit. `close` moves the
// message when its length takes another number of bytes.
constexpr std::size_t length_room = 2;

std::size_t open_message(base::Buffer& out, std::uint32_t number) {
  std::byte* at = put_tag(out.room(max_varint_bytes + length_room), number, bytes_type);
  out.written_to(at + length_room);
  return out.size();
}

void close_message(base::Buffer& out, std::size_t begin) {
  const std::size_t size = out.size() - begin;
  const std::size_t length_bytes = varint_bytes(size);
  if (length_bytes != length_room) {
    out.room(length_bytes);
    std::memmove(out.data() + begin - length_room + length_bytes, out.data() + begin, size);
    out.written_to(out.data() + begin - length_room + length_bytes + size);
  }
  put_varint(out.data() + begin - length_room, size);
}

void put_count(base::Buffer& out, std::uint32_t number, std::size_t count) {
  if (count == 0) return;
  std::byte* at = put_tag(out.room(2 * max_varint_bytes), number, varint_type);
  out.written_to(put_varint(at, count));
}

std::byte* put_fixed64(std::byte* at, std::uint32_t number, std::uint64_t value) noexcept {
  return put_raw(put_tag(at, number, fixed64_type), value);
}

std::byte* put_flags(std::byte* at, std::uint32_t number, std::uint32_t flags) noexcept {
  return put_raw(put_tag(at, number, fixed32_type), flags);
}

constexpr bool is_array(ItemType type) noexcept {
  return (type >= ItemType::boolean_array && type <= ItemType::string_array) || type == ItemType::unsigned_array;
}

constexpr std::size_t max_digits = 20;
constexpr std::size_t max_scalar_bytes = bytes_field_bytes(max_digits);

/// One alternative of AnyValue: a scalar, or the element of an array of them.
std::byte* put_scalar(std::byte* at, ItemType type, std::uint64_t word) noexcept {
  switch (type) {
    case ItemType::boolean:
    case ItemType::boolean_array: return put_varint(put_tag(at, field::bool_value, varint_type), word != 0);
    case ItemType::floating:
    case ItemType::floating_array: return put_fixed64(at, field::double_value, word);
    case ItemType::unsigned_integer:
    case ItemType::unsigned_array:
      if (word > std::uint64_t(std::numeric_limits<std::int64_t>::max())) {
        char digits[max_digits];
        const char* end = std::to_chars(digits, digits + max_digits, word).ptr;
        return put_bytes(at, field::string_value, {digits, static_cast<std::size_t>(end - digits)});
      }
      [[fallthrough]];
    default: return put_varint(put_tag(at, field::int_value, varint_type), word);
  }
}

/// How many bytes `put_scalar` writes.
std::size_t scalar_bytes(ItemType type, std::uint64_t word) noexcept {
  switch (type) {
    case ItemType::boolean: return 2;
    case ItemType::floating: return 9;
    case ItemType::unsigned_integer:
      if (word > std::uint64_t(std::numeric_limits<std::int64_t>::max())) {
        char digits[max_digits];
        return 2 + static_cast<std::size_t>(std::to_chars(digits, digits + max_digits, word).ptr - digits);
      }
      [[fallthrough]];
    default: return 1 + varint_bytes(word);
  }
}

constexpr std::uint64_t internal_kind = 1;
constexpr std::size_t identity_and_times_bytes = 96;  // at most

constexpr std::string_view truncation_mark = "nemo.span.truncated";
constexpr std::string_view inversion_mark = "nemo.span.inverted";

/// An attribute of the library's own: true, beside what the program set.
void put_mark(base::Buffer& out, std::string_view mark) {
  const std::size_t begin = open_message(out, field::attributes);
  std::byte* at = put_bytes(out.room(64), field::key, mark);
  at = put_varint(put_tag(at, field::value, bytes_type), 2);
  out.written_to(put_varint(put_tag(at, field::bool_value, varint_type), 1));
  close_message(out, begin);
}

}  // namespace

SpanEncoder::SpanEncoder(NameSource names, TimeSource times, Limits limits, std::vector<std::string> redacted_keys)
    : names_(std::move(names)), times_(std::move(times)), limits_(limits), redacted_keys_(std::move(redacted_keys)) {
  reason_key_ = encoded_text(field::key, "reason");
}

SpanEncoder::Field SpanEncoder::encoded_text(std::uint32_t number, std::string_view text) {
  Field field;
  field.size = bytes_field_bytes(text.size());
  field.bytes.resize(std::max(field.size, Field::short_bytes));
  put_bytes(reinterpret_cast<std::byte*>(field.bytes.data()), number, text);
  return field;
}

const SpanEncoder::Fragment& SpanEncoder::make_fragment(std::uint32_t id) {
  constexpr std::uint32_t max_id = 0xffff;  // no process has more names; a damaged record may say anything
  if (id > max_id) id = 0;
  if (id >= fragments_.size()) fragments_.resize(std::size_t{id} + 64);
  const std::string text(valid_text(names_(id)));
  fragments_[id] = {encoded_text(field::name, text), encoded_text(field::key, text), true,
                    is_redacted(text, redacted_keys_)};
  return fragments_[id];
}

bool SpanEncoder::Attributes::replace(const Item& item) noexcept {
  for (Item& known : items_) {
    if (known.header.key != item.header.key) continue;
    known = item;
    return true;
  }
  return false;
}

std::string_view SpanEncoder::valid_text_slowly(std::string_view text) {
  if (base::is_utf8(text)) [[likely]]
    return text;
  repaired_ = base::repaired_utf8(text);
  return repaired_;
}

// What differs from span to span comes last and in one piece, most of it random: a compressor finds the rest of one
// span after the other as one long match. Receivers take fields in any order.
void SpanEncoder::encode(const SpanRecord& span, base::Buffer& out) {
  const Field& name = fragment(span.name).name;
  const bool is_plain =
      span.later.empty() && !span.truncated && !span.lost.any() && span.end_unix_ns >= span.start_unix_ns;
  if (is_plain && name.is_short() && !trace_states_) [[likely]]
    if (put_plain_span(out, span, name)) return;
  const std::size_t begin = open_message(out, field::scope_spans_spans);
  out.written_to(name.put(out.room(name.bytes.size())));
  parts_.kind.payload = nullptr;
  put_parts(out, span);
  if (trace_states_) put_trace_state(out, span.trace);
  std::byte* at = out.room(identity_and_times_bytes);
  out.written_to(put_identity_and_times(at, span, parts_.kind.payload ? word_at(parts_.kind.payload) : internal_kind));
  close_message(out, begin);
}

// Nearly all spans: attributes and nothing else. The room for all of it is asked for once.
bool SpanEncoder::put_plain_span(base::Buffer& out, const SpanRecord& span, const Field& name) {
  constexpr std::size_t least_item_bytes = sizeof(ItemHeader) + 8;
  const std::size_t most_attributes = span.items.size() / least_item_bytes;
  std::byte* const tag = out.room(1 + max_varint_bytes + Field::short_bytes + span.items.size() +
                                  most_attributes * plain_attribute_bytes + identity_and_times_bytes);
  std::byte* const begin = put_tag(tag, field::scope_spans_spans, bytes_type) + length_room;
  std::byte* at = put_plain_attributes(name.put(begin), span.items);
  if (!at) return false;
  at = put_identity_and_times(at, span, internal_kind);
  out.written_to(at);
  close_message(out, static_cast<std::size_t>(begin - out.data()));
  return true;
}

// Written as they are read, all state in locals: to the compiler, a byte that is written may be any member's. What is
// not plain (arrays, keys met for the first time or twice, text to be cut or repaired, anything but attributes) is left
// to `put_parts`.
__attribute__((flatten)) std::byte* SpanEncoder::put_plain_attributes(std::byte* at,
                                                                      std::span<const std::byte> items) const {
  const Fragment* const fragments = fragments_.data();
  const std::size_t fragment_count = fragments_.size();
  const std::size_t most_characters = limits_.value_characters;
  std::size_t left = limits_.attributes;
  std::uint64_t seen = 0;  // keys, by their lower bits
  const bool all = for_each_item(items, [&](const ItemHeader& header, const std::byte* payload) {
    const std::uint64_t bit = std::uint64_t{1} << (header.key & 63);
    if ((seen & bit) != 0 || left-- == 0 || header.key >= fragment_count) return false;
    seen |= bit;
    const Fragment& key = fragments[header.key];
    if (!key.known || !key.key.is_short()) return false;
    if (header.type == ItemType::string) {
      const std::string_view text = key.redacted ? redaction : text_at(payload, header.count);
      if (text.size() > most_characters || !(base::is_ascii(text) || base::is_utf8(text))) return false;
      at = put_text_attribute(at, field::attributes, key.key, text);
    } else {
      if (header.type >= ItemType::position || is_array(header.type)) return false;
      at = put_scalar_attribute(at, field::attributes, key.key, {header, payload});
    }
    return true;
  });
  return all ? at : nullptr;
}

std::byte* SpanEncoder::put_identity_and_times(std::byte* at, const SpanRecord& span, std::uint64_t kind) {
  at = put_varint(put_tag(at, field::span_id, bytes_type), 8);
  at = put_raw(at, span.span);
  at = put_varint(put_tag(at, field::kind, varint_type), kind);
  std::uint32_t flags = span.flags;
  if (span.parent != 0) {
    at = put_varint(put_tag(at, field::parent_span_id, bytes_type), 8);
    at = put_raw(at, span.parent);
    flags |= parent_remoteness_known | (span.parent_is_remote ? parent_is_remote : 0);
  }
  at = put_flags(at, field::flags, flags);
  at = put_varint(put_tag(at, field::trace_id, bytes_type), 16);
  at = put_raw(put_raw(at, span.trace.high), span.trace.low);
  at = put_fixed64(at, field::end, static_cast<std::uint64_t>(std::max(span.end_unix_ns, span.start_unix_ns)));
  return put_fixed64(at, field::start, static_cast<std::uint64_t>(span.start_unix_ns));
}

void SpanEncoder::put_parts(base::Buffer& out, const SpanRecord& span) {
  parts_.attributes.clear();
  parts_.events.clear();
  parts_.links.clear();
  parts_.status.payload = nullptr;
  parts_.lost = {span.lost.attributes, span.lost.events, span.lost.links};
  collect(span.items);
  if (!span.later.empty()) collect_later(span.later);
  put_span_attributes(out, span);
  if (!parts_.events.empty() || span.truncated || parts_.lost.events > 0) put_events(out, span);
  if (!parts_.links.empty() || parts_.lost.links > 0) put_links(out);
  if (parts_.status.payload) put_status(out);
}

void SpanEncoder::collect(std::span<const std::byte> items) {
  std::size_t of_link = 0;  // attribute items that still belong to the last link
  for_each_item(items, [&](const ItemHeader& header, const std::byte* payload) {
    const Item item{header, payload};
    switch (header.type) {
      case ItemType::kind: parts_.kind = item; break;
      case ItemType::link:
        parts_.links.push_back({item, {}});
        of_link = header.count;
        break;
      case ItemType::status: set_status(item); break;
      case ItemType::lost: count_lost(RecordKind(header.extra), word_at(payload) + 1); break;
      case ItemType::position:
      case ItemType::parent:
      case ItemType::time:
      case ItemType::body: break;
      default:
        if (of_link > 0) {
          --of_link;
          parts_.links.back().attributes.set(item);
        } else {
          parts_.attributes.set(item);
        }
    }
    return true;
  });
}

void SpanEncoder::count_lost(RecordKind kind, std::uint64_t count) noexcept {
  switch (kind) {
    case RecordKind::event: parts_.lost.events += count; break;
    case RecordKind::links: parts_.lost.links += count; break;
    default: parts_.lost.attributes += count;
  }
}

void SpanEncoder::collect_later(std::span<const std::byte> records) {
  while (records.size() >= sizeof(RecordHeader)) {
    RecordHeader header;
    std::memcpy(&header, records.data(), sizeof header);
    if (header.bytes() < sizeof header || header.bytes() > records.size()) return;
    const auto items = records.first(header.bytes()).subspan(sizeof header);
    if (header.kind() == RecordKind::event) {
      Event event{header.reference, header.ticks, {}};
      for_each_item(items, [&](const ItemHeader& item, const std::byte* payload) {
        if (is_attribute(item.type)) event.attributes.set(Item{item, payload});
        return true;
      });
      parts_.events.push_back(std::move(event));
    } else {
      collect(items);
    }
    records = records.subspan(header.bytes());
  }
}

void SpanEncoder::put_span_attributes(base::Buffer& out, const SpanRecord& span) {
  put_attributes(out, field::attributes, field::dropped_attributes, parts_.attributes, limits_.attributes,
                 parts_.lost.attributes);
  if (span.truncated) put_mark(out, truncation_mark);
  if (span.end_unix_ns < span.start_unix_ns) put_mark(out, inversion_mark);
}

void SpanEncoder::put_attributes(base::Buffer& out, std::uint32_t number, std::uint32_t dropped_number,
                                 const Attributes& attributes, std::size_t limit, std::size_t lost) {
  const std::size_t count = std::min(attributes.size(), limit);
  for (std::size_t i = 0; i < count; ++i) put_attribute(out, number, attributes[i]);
  put_count(out, dropped_number, attributes.size() - count + lost);
}

void SpanEncoder::put_attribute(base::Buffer& out, std::uint32_t number, const Item& item) {
  const Fragment& key = fragment(item.header.key);
  if (is_array(item.header.type)) return put_array_attribute(out, number, key, item);
  if (item.header.type == ItemType::string)
    return put_text_attribute(out, number, key.key,
                              key.redacted ? redaction : limited(valid_text(text_at(item.payload, item.header.count))));
  out.written_to(put_scalar_attribute(out.room(key.key.bytes.size() + plain_attribute_bytes), number, key.key, item));
}

void SpanEncoder::put_text_attribute(base::Buffer& out, std::uint32_t number, const Field& key, std::string_view text) {
  std::byte* at = out.room(key.bytes.size() + plain_attribute_bytes + text.size());
  out.written_to(put_text_attribute(at, number, key, text));
}

std::byte* SpanEncoder::put_text_attribute(std::byte* at, std::uint32_t number, const Field& key,
                                           std::string_view text) noexcept {
  const std::size_t value_bytes = bytes_field_bytes(text.size());
  at = put_varint(put_tag(at, number, bytes_type), key.size + bytes_field_bytes(value_bytes));
  at = key.put(at);
  at = put_varint(put_tag(at, field::value, bytes_type), value_bytes);
  return put_bytes(at, field::string_value, text);
}

// AnyValue with a scalar: few bytes, so all lengths but the key's take one byte.
std::byte* SpanEncoder::put_scalar_attribute(std::byte* at, std::uint32_t number, const Field& key,
                                             const Item& item) noexcept {
  const std::uint64_t word = word_at(item.payload);
  const std::size_t value_bytes = scalar_bytes(item.header.type, word);
  at = put_varint(put_tag(at, number, bytes_type), key.size + 2 + value_bytes);
  at = key.put(at);
  at = put_varint(put_tag(at, field::value, bytes_type), value_bytes);
  return put_scalar(at, item.header.type, word);
}

void SpanEncoder::put_array_attribute(base::Buffer& out, std::uint32_t number, const Fragment& key, const Item& item) {
  const std::size_t attribute = open_message(out, number);
  out.written_to(key.key.put(out.room(key.key.bytes.size())));
  const std::size_t value = open_message(out, field::value);
  const std::size_t array = open_message(out, field::array_value);
  const std::byte* element = item.payload;
  for (std::size_t i = 0; i < item.header.count; ++i) {
    const std::size_t begin = open_message(out, field::array_values);
    if (item.header.type == ItemType::string_array) {
      std::uint32_t size;
      std::memcpy(&size, element, 4);
      std::string_view text = key.redacted ? redaction : valid_text(text_at(element + 4, size));
      text = limited(text);
      out.written_to(put_bytes(out.room(bytes_field_bytes(text.size())), field::string_value, text));
      element += detail::padded(4 + std::uint64_t{size});
    } else {
      out.written_to(put_scalar(out.room(max_scalar_bytes), item.header.type, word_at(element)));
      element += 8;
    }
    close_message(out, begin);
  }
  close_message(out, array);
  close_message(out, value);
  close_message(out, attribute);
}

void SpanEncoder::put_events(base::Buffer& out, const SpanRecord& span) {
  const std::size_t count = std::min(parts_.events.size(), limits_.events);
  for (std::size_t i = 0; i < count; ++i) {
    const Event& event = parts_.events[i];
    const std::size_t begin = open_message(out, field::events);
    out.written_to(put_fixed64(out.room(9), field::event_time, static_cast<std::uint64_t>(times_(event.ticks))));
    const Field& name = fragment(event.name).name;
    std::byte* at = out.room(name.bytes.size());
    out.written_to(name.put(at));
    put_tag(at, field::event_name, bytes_type);  // in the place of the span name's
    put_attributes(out, field::event_attributes, field::event_dropped_attributes, event.attributes,
                   limits_.event_attributes);
    close_message(out, begin);
  }
  if (span.truncated) {
    const std::size_t begin = open_message(out, field::events);
    std::byte* at = put_fixed64(out.room(128), field::event_time, static_cast<std::uint64_t>(span.end_unix_ns));
    out.written_to(put_bytes(at, field::event_name, truncation_mark));
    put_text_attribute(out, field::event_attributes, reason_key_, limited(valid_text(span.truncation_reason)));
    close_message(out, begin);
  }
  put_count(out, field::dropped_events, parts_.events.size() - count + parts_.lost.events);
}

void SpanEncoder::put_links(base::Buffer& out) {
  const std::size_t count = std::min(parts_.links.size(), limits_.links);
  for (std::size_t i = 0; i < count; ++i) {
    const Link& link = parts_.links[i];
    const std::size_t begin = open_message(out, field::links);
    std::byte* at = out.room(48);
    at = put_bytes(at, field::trace_id, text_at(link.context.payload, 16));
    out.written_to(put_bytes(at, field::span_id, text_at(link.context.payload + 16, 8)));
    if (trace_states_) put_trace_state(out, {word_at(link.context.payload), word_at(link.context.payload + 8)});
    put_attributes(out, field::link_attributes, field::link_dropped_attributes, link.attributes,
                   limits_.link_attributes);
    out.written_to(put_flags(out.room(8), field::link_flags, link.context.header.extra));
    close_message(out, begin);
  }
  put_count(out, field::dropped_links, parts_.links.size() - count + parts_.lost.links);
}

// A Span and a Link have it in the same field.
void SpanEncoder::put_trace_state(base::Buffer& out, const model::TraceWords& trace) {
  const std::string state = trace_states_(model::trace_id_of(trace));
  if (!state.empty()) out.written_to(put_bytes(out.room(bytes_field_bytes(state.size())), field::trace_state, state));
}

void SpanEncoder::set_status(const Item& item) {
  if (replaces_status(parts_.status.payload ? &parts_.status.header : nullptr, item.header)) parts_.status = item;
}

void SpanEncoder::put_status(base::Buffer& out) {
  const std::string_view message = valid_text(text_at(parts_.status.payload, parts_.status.header.count));
  const std::size_t begin = open_message(out, field::status);
  if (!message.empty())
    out.written_to(put_bytes(out.room(bytes_field_bytes(message.size())), field::status_message, message));
  std::byte* at = put_tag(out.room(1 + max_varint_bytes), field::status_code, varint_type);
  out.written_to(put_varint(at, parts_.status.header.extra));
  close_message(out, begin);
}

}  // namespace lens::otlp
