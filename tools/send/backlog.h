// SPDX-License-Identifier: Apache-2.0
// Requests that wait on disk to be sent, in a place that remembers which have been.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lens::send {

class Backlog {
 public:
  virtual ~Backlog() = default;

  struct Request {
    std::string_view bytes;  // valid until the next call
    std::uint64_t items;     // spans, metrics or log records
  };

  /// Nothing at the end.
  virtual std::optional<Request> next() = 0;
  /// Everything that `next` has given is settled: it will never be given again, by whoever comes next neither. What is
  /// not settled is.
  virtual void settle() = 0;
  /// The same of the first `items` of what `next` gave last, and of everything that it gave before.
  virtual void settle_first(std::uint64_t items) = 0;

  /// For progress, in a unit of its own: how much there was at first, and how much of it `next` has gone through.
  virtual std::uint64_t total() const = 0;
  virtual std::uint64_t passed() const = 0;
};

}  // namespace lens::send
