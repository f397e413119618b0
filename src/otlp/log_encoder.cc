// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/log_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <protozero/pbf_writer.hpp>

#include "src/otlp/record_items.h"
#include "src/otlp/redaction.h"

namespace lens::otlp {
namespace {

using detail::ItemHeader;
using detail::ItemType;
using protozero::pbf_writer;

// Field numbers of opentelemetry.proto.logs.v1.
namespace field {
constexpr std::uint32_t scope_logs_log_records = 2;
constexpr std::uint32_t time = 1, severity_number = 2, severity_text = 3, body = 5, attributes = 6,
                        dropped_attributes = 7, flags = 8, trace_id = 9, span_id = 10, observed_time = 11;
constexpr std::uint32_t key = 1, value = 2;
constexpr std::uint32_t string_value = 1, bool_value = 2, int_value = 3, double_value = 4, array_value = 5;
constexpr std::uint32_t array_values = 1;
}  // namespace field

constexpr std::uint32_t most_severe = 24;
constexpr std::string_view cut_mark = "nemo.log.truncated";

std::string_view severity_text(std::uint32_t severity) noexcept {
  static constexpr std::string_view texts[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"};
  return texts[(severity - 1) / 4];
}

struct Item {
  ItemHeader header;
  const std::byte* payload;
};

void add_text(pbf_writer& message, std::uint32_t number, std::string_view text) {
  if (base::is_utf8(text))
    message.add_string(number, text.data(), text.size());
  else
    message.add_string(number, base::repaired_utf8(text));
}

/// Writes values of one attribute, whose text may have to be redacted or cut.
class ValueWriter {
 public:
  ValueWriter(bool is_redacted, std::size_t most_characters)
      : is_redacted_(is_redacted), most_characters_(most_characters) {}

  void write(pbf_writer& any, const Item& item) const {
    switch (item.header.type) {
      case ItemType::string: return write_text(any, text_at(item.payload, item.header.count));
      case ItemType::string_array: return write_texts(any, item);
      case ItemType::boolean_array: return write_words(any, item, ItemType::boolean);
      case ItemType::integer_array: return write_words(any, item, ItemType::integer);
      case ItemType::floating_array: return write_words(any, item, ItemType::floating);
      case ItemType::unsigned_array: return write_words(any, item, ItemType::unsigned_integer);
      default: return write_word(any, item.header.type, word_at(item.payload));
    }
  }

 private:
  void write_text(pbf_writer& any, std::string_view text) const {
    if (is_redacted_) return any.add_string(field::string_value, redaction.data(), redaction.size());
    const std::string valid = base::is_utf8(text) ? std::string(text) : base::repaired_utf8(text);
    const std::string_view cut = base::first_characters(valid, most_characters_);
    any.add_string(field::string_value, cut.data(), cut.size());
  }

  void write_word(pbf_writer& any, ItemType type, std::uint64_t word) const {
    const auto number = static_cast<std::int64_t>(word);
    if (type == ItemType::boolean) return any.add_bool(field::bool_value, word != 0);
    if (type == ItemType::floating) return any.add_double(field::double_value, std::bit_cast<double>(word));
    if (type == ItemType::unsigned_integer && number < 0)
      return any.add_string(field::string_value, std::to_string(word));
    any.add_int64(field::int_value, number);
  }

  void write_words(pbf_writer& any, const Item& item, ItemType type) const {
    pbf_writer array(any, field::array_value);
    for (std::size_t i = 0; i < item.header.count; ++i) {
      pbf_writer element(array, field::array_values);
      write_word(element, type, word_at(item.payload + i * 8));
    }
  }

  void write_texts(pbf_writer& any, const Item& item) const {
    pbf_writer array(any, field::array_value);
    const std::byte* at = item.payload;
    for (std::size_t i = 0; i < item.header.count; ++i) {
      std::uint32_t size;
      std::memcpy(&size, at, sizeof size);
      pbf_writer element(array, field::array_values);
      write_text(element, text_at(at + sizeof size, size));
      at += detail::padded(sizeof size + std::uint64_t{size});
    }
  }

  bool is_redacted_;
  std::size_t most_characters_;
};

void write_identity(pbf_writer& message, const LogRecord& record) {
  if (record.span == 0) return;
  char trace[16], span[8];
  std::memcpy(trace, &record.trace.high, 8);
  std::memcpy(trace + 8, &record.trace.low, 8);
  std::memcpy(span, &record.span, sizeof span);
  message.add_fixed32(field::flags, record.flags);
  message.add_bytes(field::trace_id, trace, sizeof trace);
  message.add_bytes(field::span_id, span, sizeof span);
}

void write_mark(pbf_writer& message, std::string_view mark) {
  pbf_writer attribute(message, field::attributes);
  attribute.add_string(field::key, mark.data(), mark.size());
  pbf_writer any(attribute, field::value);
  any.add_bool(field::bool_value, true);
}

/// What is behind a record: the body, and of attributes with equal keys the last.
struct Parts {
  explicit Parts(std::span<const std::byte> items) {
    for_each_item(items, [this](const ItemHeader& header, const std::byte* payload) {
      const Item item{header, payload};
      if (header.type == ItemType::body) body = item;
      if (header.type >= ItemType::position) return true;
      const auto same = std::ranges::find(attributes, header.key, [](const Item& known) { return known.header.key; });
      same == attributes.end() ? attributes.push_back(item) : static_cast<void>(*same = item);
      return true;
    });
  }

  Item body{};
  std::vector<Item> attributes;
};

}  // namespace

LogEncoder::LogEncoder(NameSource names, const Limits& limits, std::vector<std::string> redacted_keys)
    : names_(std::move(names)), limits_(limits), redacted_keys_(std::move(redacted_keys)) {}

void LogEncoder::encode(const LogRecord& record, std::string& out) {
  pbf_writer elements(out);
  pbf_writer message(elements, field::scope_logs_log_records);
  message.add_fixed64(field::time, static_cast<std::uint64_t>(record.unix_ns));
  message.add_fixed64(field::observed_time, static_cast<std::uint64_t>(record.observed_unix_ns));
  if (record.severity >= 1 && record.severity <= most_severe) {
    message.add_enum(field::severity_number, static_cast<std::int32_t>(record.severity));
    const std::string_view text = severity_text(record.severity);
    message.add_string(field::severity_text, text.data(), text.size());
  }
  const Parts parts(record.items);
  if (parts.body.payload) {
    pbf_writer any(message, field::body);
    add_text(any, field::string_value, text_at(parts.body.payload, parts.body.header.count));
  }
  const std::size_t count = std::min(parts.attributes.size(), limits_.attributes);
  for (const Item& item : std::span(parts.attributes).first(count)) {
    pbf_writer attribute(message, field::attributes);
    const std::string_view key = names_(item.header.key);
    add_text(attribute, field::key, key);
    pbf_writer any(attribute, field::value);
    ValueWriter(is_redacted(key, redacted_keys_), limits_.value_characters).write(any, item);
  }
  if (parts.body.header.extra != 0) write_mark(message, cut_mark);
  if (parts.attributes.size() > count)
    message.add_uint32(field::dropped_attributes, static_cast<std::uint32_t>(parts.attributes.size() - count));
  write_identity(message, record);
}

}  // namespace lens::otlp
