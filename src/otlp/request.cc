// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/request.h"

#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "src/otlp/decode.h"

namespace lens::otlp {
namespace {

// Of a request, a resource's part of it and a scope's part of that: the field that repeats.
constexpr std::uint32_t list_fields[] = {1, 2, 2};
constexpr int depth = 3;

/// A message of some depth: what it repeats, and everything else as it lies there.
struct Parts {
  std::vector<std::string_view> elements;
  std::string others;
  std::size_t element_bytes = 0;
};

Parts parts_of(std::string_view message, int level) {
  Parts parts;
  protozero::pbf_reader fields(message.data(), message.size());
  for (const char* begin = message.data(); fields.next(); begin = fields.data().data()) {
    if (fields.tag() == list_fields[level] && fields.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const auto element = fields.get_view();
      parts.elements.emplace_back(element.data(), element.size());
      parts.element_bytes += element.size();
    } else {
      fields.skip();
      parts.others.append(begin, fields.data().data());
    }
  }
  return parts;
}

std::uint64_t count_items(std::string_view message, int level) {
  const Parts parts = parts_of(message, level);
  if (level + 1 == depth) return parts.elements.size();
  std::uint64_t count = 0;
  for (const std::string_view element : parts.elements) count += count_items(element, level + 1);
  return count;
}

void add_element(std::string& message, int level, std::string_view element) {
  protozero::pbf_writer(message).add_bytes(list_fields[level], element.data(), element.size());
}

using Halves = std::pair<std::string, std::string>;

std::optional<Halves> halves_of(std::string_view message, int level) {
  if (level == depth) return std::nullopt;
  const Parts parts = parts_of(message, level);
  if (parts.elements.empty()) return std::nullopt;
  Halves halves{parts.others, parts.others};
  if (parts.elements.size() == 1) {
    const auto inner = halves_of(parts.elements.front(), level + 1);
    if (!inner) return std::nullopt;
    add_element(halves.first, level, inner->first);
    add_element(halves.second, level, inner->second);
    return halves;
  }
  std::size_t first_bytes = 0;
  bool is_first = true;
  for (const std::string_view element : parts.elements) {
    is_first = is_first && (first_bytes == 0 || first_bytes + element.size() <= parts.element_bytes / 2) &&
               element.data() != parts.elements.back().data();
    add_element(is_first ? halves.first : halves.second, level, element);
    first_bytes += element.size();
  }
  return halves;
}

/// Of a message of some level without its first `count` items, of which as many are taken off as it held.
std::string without_first(std::string_view message, int level, std::uint64_t& count) {
  const Parts parts = parts_of(message, level);
  std::string rest = parts.others;
  for (const std::string_view element : parts.elements) {
    const std::uint64_t items = level + 1 == depth ? 1 : count_items(element, level + 1);
    if (items <= count) {
      count -= items;
    } else {
      add_element(rest, level, count == 0 ? std::string(element) : without_first(element, level + 1, count));
    }
  }
  return rest;
}

}  // namespace

std::uint64_t item_count(std::string_view request) try {
  return count_items(request, 0);
} catch (const protozero::exception& error) {
  throw DecodeError(error.what());
}

std::optional<RequestHalves> halved(std::string_view request) try {
  auto halves = halves_of(request, 0);
  if (!halves) return std::nullopt;
  const std::uint64_t first = item_count(halves->first), second = item_count(halves->second);
  return RequestHalves{std::move(halves->first), std::move(halves->second), first, second};
} catch (const protozero::exception&) {
  return std::nullopt;
}

std::string without_first(std::string_view request, std::uint64_t count) try {
  return count_items(request, 0) <= count ? std::string() : without_first(request, 0, count);
} catch (const protozero::exception& error) {
  throw DecodeError(error.what());
}

}  // namespace lens::otlp
