// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/model/w3c.h"

namespace lens::model {
namespace {

// What everybody must carry; nobody may rely on more.
constexpr std::size_t most_members = 64, most_bytes = 8192;

bool is_one_of(char c, std::string_view characters) noexcept { return characters.find(c) != std::string_view::npos; }

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_token(std::string_view text) noexcept {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || is_one_of(c, "!#$%&'*+-.^_`|~"); });
}

// What stands for itself in a value, and "%", which begins an escape.
bool is_value_octet(char c) noexcept { return c > ' ' && c <= '~' && !is_one_of(c, "\",;\\"); }

bool are_properties(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~' && c != ',') || c == '\t'; });
}

std::string percent_encoded(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_value_octet(c) && c != '%') {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return encoded;
}

/// key "=" value *( ";" property ), with blanks around each. Its key is empty when it is malformed.
BaggageMember parse_member(std::string_view text) {
  const auto semicolon = std::min(text.find(';'), text.size());
  const std::string_view pair = text.substr(0, semicolon);
  const auto equals = pair.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string_view key = base::trim(pair.substr(0, equals));
  const std::string_view value = base::trim(pair.substr(equals + 1));
  const std::string_view properties = base::trim(text.substr(std::min(semicolon + 1, text.size())));
  if (!is_token(key) || !std::ranges::all_of(value, is_value_octet) || !are_properties(properties)) return {};
  const auto decoded = base::percent_decoded(value);
  if (!decoded) return {};
  return {std::string(key), base::repaired_utf8(*decoded), std::string(properties)};
}

}  // namespace

std::vector<BaggageMember> parse_baggage(std::string_view header) {
  std::vector<BaggageMember> members;
  std::size_t bytes = 0;
  for (const std::string_view text : base::split(header, ',')) {
    if (members.size() == most_members) break;
    BaggageMember member = parse_member(text);
    const std::size_t comma = members.empty() ? 0 : 1;
    if (member.key.empty() || bytes + comma + text.size() > most_bytes) continue;
    bytes += comma + text.size();
    members.push_back(std::move(member));
  }
  return members;
}

std::string fault_of_baggage(std::string_view header) {
  std::size_t count = 0;
  for (const std::string_view text : base::split(header, ',')) {
    if (base::trim(text).empty()) continue;
    ++count;
    if (parse_member(text).key.empty())
      return "member " + std::to_string(count) + " of it is not a key with a percent-encoded value behind =";
  }
  if (parse_baggage(header).size() == count) return {};
  return "it has more than " + std::to_string(most_members) + " members or " + std::to_string(most_bytes) + " bytes";
}

std::string format_baggage(const std::vector<BaggageMember>& members) {
  std::string header;
  std::size_t count = 0;
  for (const BaggageMember& member : members) {
    if (count == most_members) break;
    if (!is_token(member.key) || !are_properties(member.properties)) continue;
    std::string text = header.empty() ? "" : ",";
    text += member.key + '=' + percent_encoded(member.value);
    if (!member.properties.empty()) text += ';' + member.properties;
    if (header.size() + text.size() > most_bytes) continue;
    header += text;
    ++count;
  }
  return header;
}

}  // namespace lens::model
