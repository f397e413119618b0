// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/export_response.h"

#include <charconv>
#include <protozero/pbf_reader.hpp>

#include "src/base/text.h"

namespace lens::otlp {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::string_view retry_info = "google.rpc.RetryInfo";

std::string_view view(protozero::data_view bytes) { return {bytes.data(), bytes.size()}; }

std::chrono::milliseconds duration(pbf_reader message) {
  std::chrono::nanoseconds total{};
  while (message.next()) {
    if (message.tag_and_type() == tag_and_type(1, pbf_wire_type::varint))
      total += std::chrono::seconds(message.get_int64());
    else if (message.tag_and_type() == tag_and_type(2, pbf_wire_type::varint))
      total += std::chrono::nanoseconds(message.get_int32());
    else
      message.skip();
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(total);
}

/// Of an Any that holds a RetryInfo.
std::optional<std::chrono::milliseconds> retry_delay(pbf_reader any) {
  std::string_view type, value;
  while (any.next()) {
    if (any.tag_and_type() == tag_and_type(1, pbf_wire_type::length_delimited))
      type = view(any.get_view());
    else if (any.tag_and_type() == tag_and_type(2, pbf_wire_type::length_delimited))
      value = view(any.get_view());
    else
      any.skip();
  }
  if (!type.ends_with(retry_info)) return std::nullopt;
  std::chrono::milliseconds delay{};
  for (pbf_reader info(value.data(), value.size()); info.next();) {
    if (info.tag_and_type() == tag_and_type(1, pbf_wire_type::length_delimited))
      delay = duration(info.get_message());
    else
      info.skip();
  }
  return delay;
}

/// What stands behind `"name":`. An answer is flat and small, so no parser is brought into the trainer for it: a quoted
/// name cannot occur within a JSON text, where its quotes would be escaped.
std::string_view behind(std::string_view json, std::string_view name) {
  const std::string quoted = '"' + std::string(name) + '"';
  const std::size_t at = json.find(quoted);
  if (at == std::string_view::npos) return {};
  json = base::trim(json.substr(at + quoted.size()));
  return json.starts_with(':') ? base::trim(json.substr(1)) : std::string_view();
}

/// A JSON text's characters up to its closing quote. An escaped character outside ASCII becomes a question mark: the
/// text is for people.
std::string json_text(std::string_view value) {
  std::string text;
  if (!value.starts_with('"')) return text;
  for (std::size_t i = 1; i < value.size() && value[i] != '"'; ++i) {
    if (value[i] != '\\' || i + 1 == value.size()) {
      text += value[i];
      continue;
    }
    switch (const char escaped = value[++i]) {
      case 'n':
      case 'r':
      case 't':
      case 'b':
      case 'f': text += ' '; break;
      case 'u': {
        unsigned code = 0;
        const std::string_view digits = value.substr(i + 1, 4);
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        text += code >= ' ' && code < 0x7f ? static_cast<char>(code) : '?';
        i += digits.size();
        break;
      }
      default: text += escaped;
    }
  }
  return text;
}

PartialSuccess read_partial_success(pbf_reader message) {
  PartialSuccess partial;
  while (message.next()) {
    if (message.tag_and_type() == tag_and_type(1, pbf_wire_type::varint))
      partial.rejected = message.get_int64();
    else if (message.tag_and_type() == tag_and_type(2, pbf_wire_type::length_delimited))
      partial.message = message.get_string();
    else
      message.skip();
  }
  return partial;
}

PartialSuccess partial_success_of_json(std::string_view response) {
  PartialSuccess partial;
  std::string_view rejected;
  for (const std::string_view key : {"rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"}) {
    if (rejected.empty()) rejected = behind(response, key);
  }
  if (rejected.starts_with('"')) rejected.remove_prefix(1);
  std::from_chars(rejected.data(), rejected.data() + rejected.size(), partial.rejected);
  partial.message = json_text(behind(response, "errorMessage"));
  return partial;
}

}  // namespace

std::optional<PartialSuccess> partial_success(std::string_view response) try {
  const std::string_view text = base::trim(response);
  // Some receivers say in JSON that they have nothing to say.
  if (text == "null") return PartialSuccess();
  if (text.starts_with('{')) return text.ends_with('}') ? std::optional(partial_success_of_json(text)) : std::nullopt;
  PartialSuccess partial;
  for (pbf_reader message(response.data(), response.size()); message.next();) {
    if (message.tag_and_type() == tag_and_type(1, pbf_wire_type::length_delimited))
      partial = read_partial_success(message.get_message());
    else
      message.skip();
  }
  return partial;
} catch (const protozero::exception&) {
  return std::nullopt;
}

ResponseStatus response_status(std::string_view status) try {
  ResponseStatus result;
  for (pbf_reader message(status.data(), status.size()); message.next();) {
    if (message.tag_and_type() == tag_and_type(2, pbf_wire_type::length_delimited)) {
      result.message = message.get_string();
    } else if (message.tag_and_type() == tag_and_type(3, pbf_wire_type::length_delimited)) {
      if (const auto delay = retry_delay(message.get_message())) result.retry_delay = delay;
    } else {
      message.skip();
    }
  }
  return result;
} catch (const protozero::exception&) {
  return {};
}

std::string json_message(std::string_view status) { return json_text(behind(status, "message")); }

}  // namespace lens::otlp
