// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <limits>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "src/base/utf8.h"
#include "src/otlp/json.h"
#include "src/otlp/json_schema.h"

namespace lens::otlp {
namespace {

using nlohmann::json;
using protozero::pbf_writer;

[[noreturn]] void fail(const JsonField& field, const char* expected) {
  throw DecodeError(std::string(field.name) + " is not " + expected);
}

// 64-bit integers are strings in OTLP/JSON, but readers must take numbers too.
template <typename Integer>
Integer read_integer(const JsonField& field, const json& value) {
  if (value.is_number_unsigned()) return static_cast<Integer>(value.get<std::uint64_t>());
  if (value.is_number_integer()) return static_cast<Integer>(value.get<std::int64_t>());
  if (!value.is_string()) fail(field, "an integer");
  const auto& text = value.get_ref<const std::string&>();
  Integer number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) fail(field, "an integer");
  return number;
}

double read_floating(const JsonField& field, const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  fail(field, "a number");
}

const std::string& read_text(const JsonField& field, const json& value) {
  if (!value.is_string()) fail(field, "a string");
  return value.get_ref<const std::string&>();
}

int hex_digit(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

std::string read_hex(const JsonField& field, const json& value) {
  const std::string& text = read_text(field, value);
  std::string bytes;
  if (text.size() % 2 != 0) fail(field, "hexadecimal");
  for (std::size_t at = 0; at < text.size(); at += 2) {
    int high = hex_digit(text[at]), low = hex_digit(text[at + 1]);
    if (high < 0 || low < 0) fail(field, "hexadecimal");
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

int base64_digit(char character) {
  if (character >= 'A' && character <= 'Z') return character - 'A';
  if (character >= 'a' && character <= 'z') return character - 'a' + 26;
  if (character >= '0' && character <= '9') return character - '0' + 52;
  if (character == '+' || character == '-') return 62;
  if (character == '/' || character == '_') return 63;
  return -1;
}

std::string read_base64(const JsonField& field, const json& value) {
  std::string_view text = read_text(field, value);
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (char character : text) {
    int digit = base64_digit(character);
    if (digit < 0) fail(field, "base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  return bytes;
}

void write_message(pbf_writer& writer, const json& object, const JsonMessage& schema, int depth);

void write_value(pbf_writer& writer, const JsonField& field, const json& value, int depth) {
  switch (field.type) {
    case JsonType::text: writer.add_string(field.number, read_text(field, value)); break;
    case JsonType::hex: writer.add_bytes(field.number, read_hex(field, value)); break;
    case JsonType::base64: writer.add_bytes(field.number, read_base64(field, value)); break;
    case JsonType::boolean:
      if (!value.is_boolean()) fail(field, "true or false");
      writer.add_bool(field.number, value.get<bool>());
      break;
    case JsonType::number: writer.add_int32(field.number, read_integer<std::int32_t>(field, value)); break;
    case JsonType::int64: writer.add_int64(field.number, read_integer<std::int64_t>(field, value)); break;
    case JsonType::fixed64: writer.add_fixed64(field.number, read_integer<std::uint64_t>(field, value)); break;
    case JsonType::sfixed64: writer.add_sfixed64(field.number, read_integer<std::int64_t>(field, value)); break;
    case JsonType::flags: writer.add_fixed32(field.number, read_integer<std::uint32_t>(field, value)); break;
    case JsonType::floating: writer.add_double(field.number, read_floating(field, value)); break;
    case JsonType::message: {
      // By a string of its own, since a nested writer would leave an empty message out, and an empty value is a value.
      std::string nested;
      pbf_writer nested_writer(nested);
      write_message(nested_writer, value, *field.message, depth + 1);
      writer.add_message(field.number, nested);
    }
  }
}

void write_message(pbf_writer& writer, const json& object, const JsonMessage& schema, int depth) {
  if (!object.is_object()) throw DecodeError("a message is not a JSON object");
  if (depth > max_json_depth) throw DecodeError("values are nested too deep");
  for (const auto& [name, value] : object.items()) {
    const JsonField* field = schema.find(std::string_view(name));
    if (field == nullptr || value.is_null()) continue;
    if (!field->repeated) {
      write_value(writer, *field, value, depth);
      continue;
    }
    if (!value.is_array()) fail(*field, "an array");
    for (const json& element : value) write_value(writer, *field, element, depth);
  }
}

json parse(std::string_view line) {
  json parsed = json::parse(line, nullptr, false);
  // Collectors pass bytes that are not UTF-8 through to their JSON files; the parser takes none.
  if (parsed.is_discarded()) parsed = json::parse(base::repaired_utf8(line), nullptr, false);
  if (parsed.is_discarded()) throw DecodeError("not a line of JSON");
  return parsed;
}

}  // namespace

std::string from_json(Signal signal, std::string_view line) {
  std::string message;
  pbf_writer writer(message);
  write_message(writer, parse(line), json_schema_of(signal), 0);
  return message;
}

}  // namespace lens::otlp
