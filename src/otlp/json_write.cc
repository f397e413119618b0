// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "src/base/utf8.h"
#include "src/otlp/json.h"
#include "src/otlp/json_schema.h"

namespace lens::otlp {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// A field as it lies in the message: numbers by value, everything else by its bytes.
struct Occurrence {
  const JsonField* field;
  std::uint64_t number;
  std::string_view bytes;
};

pbf_wire_type wire_type(JsonType type) {
  switch (type) {
    case JsonType::boolean:
    case JsonType::number:
    case JsonType::int64: return pbf_wire_type::varint;
    case JsonType::fixed64:
    case JsonType::sfixed64:
    case JsonType::floating: return pbf_wire_type::fixed64;
    case JsonType::flags: return pbf_wire_type::fixed32;
    default: return pbf_wire_type::length_delimited;
  }
}

Occurrence read_occurrence(const JsonField& field, pbf_reader& reader) {
  switch (reader.wire_type()) {
    case pbf_wire_type::varint: return {&field, reader.get_uint64(), {}};
    case pbf_wire_type::fixed64: return {&field, reader.get_fixed64(), {}};
    case pbf_wire_type::fixed32: return {&field, reader.get_fixed32(), {}};
    default: {
      auto data = reader.get_view();
      return {&field, 0, {data.data(), data.size()}};
    }
  }
}

bool is_packed(const JsonField& field, const pbf_reader& reader) {
  return field.repeated && wire_type(field.type) == pbf_wire_type::fixed64 &&
         reader.wire_type() == pbf_wire_type::length_delimited;
}

class Writer {
 public:
  explicit Writer(std::string& json) : json_(json) {}

  // Fields come out in the order of the table, whatever their order in the message is: a repeated field may be
  // scattered over it, but is one array.
  void write_message(std::string_view message, const JsonMessage& schema, int depth = 0) {
    if (depth > max_json_depth) throw DecodeError("values are nested too deep");
    std::vector<Occurrence> occurrences;
    pbf_reader reader{message.data(), message.size()};
    while (reader.next()) {
      const JsonField* field = schema.find(reader.tag());
      if (field != nullptr && reader.wire_type() == wire_type(field->type)) {
        occurrences.push_back(read_occurrence(*field, reader));
      } else if (field != nullptr && is_packed(*field, reader)) {
        for (const std::uint64_t number : reader.get_packed_fixed64()) occurrences.push_back({field, number, {}});
      } else {
        reader.skip();
      }
    }
    json_ += '{';
    for (const JsonField& field : schema.fields) write_field(field, occurrences, depth);
    // Some readers want the list of a message that is nothing but a list, even where it is empty.
    const bool is_list = schema.fields.size() == 1 && schema.fields[0].repeated;
    if (is_list && occurrences.empty()) {
      write_name(schema.fields[0]);
      json_ += "[]";
    }
    json_ += '}';
  }

 private:
  void write_field(const JsonField& field, const std::vector<Occurrence>& occurrences, int depth) {
    const Occurrence* last = nullptr;
    for (const Occurrence& occurrence : occurrences) {
      if (occurrence.field != &field) continue;
      if (field.repeated) {
        if (last == nullptr) write_name(field);
        json_ += last == nullptr ? '[' : ',';
        write_value(occurrence, depth);
      }
      last = &occurrence;
    }
    if (last == nullptr) return;
    if (field.repeated) {
      json_ += ']';
    } else if (field.type != JsonType::hex || !last->bytes.empty()) {  // an empty id is an absent one
      write_name(field);
      write_value(*last, depth);
    }
  }

  void write_name(const JsonField& field) {
    if (json_.back() != '{') json_ += ',';
    json_ += '"';
    json_ += field.name;
    json_ += "\":";
  }

  void write_value(const Occurrence& occurrence, int depth) {
    switch (occurrence.field->type) {
      case JsonType::text: write_text(occurrence.bytes); break;
      case JsonType::hex: write_hex(occurrence.bytes); break;
      case JsonType::base64: write_base64(occurrence.bytes); break;
      case JsonType::boolean: json_ += occurrence.number != 0 ? "true" : "false"; break;
      case JsonType::number:
      case JsonType::flags: write_number(static_cast<std::int64_t>(occurrence.number)); break;
      case JsonType::int64: write_quoted(static_cast<std::int64_t>(occurrence.number)); break;
      case JsonType::fixed64: write_quoted(occurrence.number); break;
      case JsonType::sfixed64: write_quoted(static_cast<std::int64_t>(occurrence.number)); break;
      case JsonType::floating: write_floating(std::bit_cast<double>(occurrence.number)); break;
      case JsonType::message: write_message(occurrence.bytes, *occurrence.field->message, depth + 1); break;
    }
  }

  template <typename Number>
  void write_number(Number number) {
    char digits[32];
    json_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  template <typename Number>
  void write_quoted(Number number) {
    json_ += '"';
    write_number(number);
    json_ += '"';
  }

  void write_floating(double number) {
    if (std::isfinite(number)) return write_number(number);
    json_ += std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }

  void write_hex(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    json_ += '"';
    for (unsigned char byte : bytes) {
      json_ += digits[byte >> 4];
      json_ += digits[byte & 15];
    }
    json_ += '"';
  }

  void write_base64(std::string_view bytes) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    json_ += '"';
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
      std::uint32_t group = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
      }
      for (std::size_t i = 0; i < 4; ++i) json_ += at + i <= bytes.size() ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
    json_ += '"';
  }

  void write_text(std::string_view text) { append_json_text(json_, text); }

  std::string& json_;
};

void append_escaped(std::string& json, char character) {
  json += '\\';
  switch (character) {
    case '"':
    case '\\': json += character; return;
    case '\n': json += 'n'; return;
    case '\r': json += 'r'; return;
    case '\t': json += 't'; return;
    default: {
      constexpr char digits[] = "0123456789abcdef";
      json += "u00";
      json += digits[character >> 4];
      json += digits[character & 15];
    }
  }
}

}  // namespace

void append_json_text(std::string& json, std::string_view text) {
  if (!base::is_utf8(text)) return append_json_text(json, base::repaired_utf8(text));
  json += '"';
  for (const char character : text) {
    const bool is_control = static_cast<unsigned char>(character) < 0x20;
    if (is_control || character == '"' || character == '\\') {
      append_escaped(json, character);
    } else {
      json += character;
    }
  }
  json += '"';
}

void append_json(std::string& json, Signal signal, std::string_view message) {
  std::size_t size = json.size();
  try {
    Writer(json).write_message(message, json_schema_of(signal));
  } catch (const protozero::exception& error) {
    json.resize(size);
    throw DecodeError(error.what());
  } catch (...) {
    json.resize(size);
    throw;
  }
}

}  // namespace lens::otlp
