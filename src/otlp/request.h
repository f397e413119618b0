// SPDX-License-Identifier: Apache-2.0
// Requests of all signals are built alike: a list of resources, of scopes in each, of items in each (spans, metrics or
// log records). What can be done with any of them, whoever wrote it, without knowing which signal it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lens::otlp {

/// How many items a request holds. Throws DecodeError for bytes that are no request.
std::uint64_t item_count(std::string_view request);

struct RequestHalves {
  std::string first, second;
  std::uint64_t first_items, second_items;
};

/// Two requests with the resources and scopes of one, and about half its bytes each. Nothing when it holds less than
/// two items, or is no request.
std::optional<RequestHalves> halved(std::string_view request);

/// A request without its first `count` items, in the order that halves keep; empty where it holds no more. Throws
/// DecodeError for bytes that are no request.
std::string without_first(std::string_view request, std::uint64_t count);

}  // namespace lens::otlp
