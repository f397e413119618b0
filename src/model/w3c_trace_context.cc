// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <span>

#include "src/base/text.h"
#include "src/model/w3c.h"

namespace lens::model {
namespace {

// version "-" trace id "-" parent id "-" flags
constexpr std::size_t trace_id_at = 3, span_id_at = 36, flags_at = 53, traceparent_size = 55;
constexpr std::uint8_t known_flags = SpanContext::sampled | SpanContext::random_trace_id;

constexpr std::size_t most_members = 32;
constexpr std::size_t most_key_characters = 256, most_value_characters = 256;
constexpr std::size_t carried_characters = 512;  // of a tracestate
constexpr std::size_t long_member = 128;         // such are the first to go

int hex_digit(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool read_hex(std::string_view digits, std::span<std::uint8_t> bytes) noexcept {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

bool is_lower_or_digit(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_key(std::string_view key) noexcept {
  if (key.empty() || key.size() > most_key_characters || !is_lower_or_digit(key[0])) return false;
  return std::ranges::all_of(
      key, [](char c) { return is_lower_or_digit(c) || std::string_view("_-*/@").find(c) != std::string_view::npos; });
}

// Its end is no space: that was trimmed.
bool is_value(std::string_view value) noexcept {
  if (value.empty() || value.size() > most_value_characters) return false;
  return std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view key_of(std::string_view member) noexcept { return member.substr(0, member.find('=')); }

bool is_member(std::string_view member) noexcept {
  const std::string_view key = key_of(member);
  return key.size() < member.size() && is_key(key) && is_value(member.substr(key.size() + 1));
}

/// What is wrong with a header of this form; empty, and the context is there, when nothing is.
std::string_view read_traceparent(std::string_view header, SpanContext& context) noexcept {
  header = base::trim(header);
  if (header.size() < traceparent_size || header[2] != '-' || header[span_id_at - 1] != '-' ||
      header[flags_at - 1] != '-')
    return "it is not version-trace id-span id-flags, of 2, 32, 16 and 2 hex digits";
  std::uint8_t version = 0;
  const bool is_hex = read_hex(header, {&version, 1}) && read_hex(header.substr(trace_id_at), context.trace_id.bytes) &&
                      read_hex(header.substr(span_id_at), context.span_id.bytes) &&
                      read_hex(header.substr(flags_at), {&context.flags, 1});
  if (!is_hex) return "a digit of it is not one of 0-9 and a-f";
  if (version == 0xff) return "ff is no version";
  // A later version may have more behind it.
  const bool has_more = header.size() > traceparent_size;
  if (has_more && (version == 0 || header[traceparent_size] != '-')) return "it does not end behind the flags";
  context.flags &= known_flags;
  return context.valid() ? "" : "an id of it is all zeros";
}

}  // namespace

SpanContext parse_traceparent(std::string_view header) noexcept {
  SpanContext context;
  return read_traceparent(header, context).empty() ? context : SpanContext{};
}

std::string fault_of_traceparent(std::string_view header) {
  if (base::trim(header).empty()) return {};
  SpanContext ignored;
  return std::string{read_traceparent(header, ignored)};
}

std::string format_traceparent(const SpanContext& context) {
  static constexpr char flags[4][4] = {"-00", "-01", "-02", "-03"};
  if (!context) return {};
  return "00-" + context.trace_id.hex() + '-' + context.span_id.hex() + flags[context.flags & known_flags];
}

std::vector<std::string_view> parse_tracestate(std::string_view header) {
  std::vector<std::string_view> members;
  for (std::size_t count = 0; std::string_view member : base::split(header, ',')) {
    member = base::trim(member);
    if (member.empty()) continue;
    if (++count > most_members || !is_member(member)) return {};
    if (std::ranges::find(members, key_of(member), key_of) == members.end()) members.push_back(member);
  }
  return members;
}

std::string fault_of_tracestate(std::string_view header) {
  std::size_t count = 0;
  for (std::string_view member : base::split(header, ',')) {
    member = base::trim(member);
    if (member.empty()) continue;
    ++count;
    if (is_member(member)) continue;
    const std::string_view key = key_of(member);
    if (key.size() > most_key_characters || member.size() - key.size() > 1 + most_value_characters)
      return "member " + std::to_string(count) + " of it has a key or a value of more than 256 characters";
    return "member " + std::to_string(count) + " of it is not a key in lower case with a value behind =";
  }
  return count > most_members ? "it has more than " + std::to_string(most_members) + " members" : "";
}

std::string format_tracestate(std::vector<std::string_view> members) {
  std::string header = base::join(members, ",");
  while (header.size() > carried_characters) {
    const auto last_long = std::find_if(members.rbegin(), members.rend(),
                                        [](std::string_view member) { return member.size() > long_member; });
    members.erase(last_long == members.rend() ? members.end() - 1 : last_long.base() - 1);
    header = base::join(members, ",");
  }
  return header;
}

detail::W3cHeaders to_w3c(const Propagation& propagation, Propagators propagators) {
  detail::W3cHeaders headers;
  if (propagators.trace_context) headers.traceparent = format_traceparent(propagation.context);
  if (!headers.traceparent.empty()) headers.tracestate = format_tracestate(parse_tracestate(propagation.tracestate));
  if (propagators.baggage) headers.baggage = format_baggage(propagation.baggage);
  return headers;
}

Propagation from_w3c(const detail::W3cHeaders& headers, Propagators propagators, Propagation before) {
  if (propagators.trace_context) {
    if (const SpanContext context = parse_traceparent(headers.traceparent)) {
      before.context = context;
      before.tracestate = base::join(parse_tracestate(headers.tracestate), ",");
    }
  }
  if (propagators.baggage) {
    auto baggage = parse_baggage(headers.baggage);
    if (!baggage.empty()) before.baggage = std::move(baggage);
  }
  return before;
}

}  // namespace lens::model
