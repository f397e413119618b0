// SPDX-License-Identifier: Apache-2.0
// From a log record as it lies in the rings to the bytes of an OTLP LogRecord. They are few beside spans: written for
// simplicity.
//
// Threads:   one at a time.
// Ownership: a LogRecord borrows the ring's bytes for the call.
// Errors:    std::bad_alloc only. Strings that are not UTF-8 are repaired.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/otlp/span_encoder.h"

namespace lens::otlp {

struct LogRecord {
  model::TraceWords trace{};
  std::uint64_t span = 0;  // that was current; 0: none was, and the trace says nothing
  std::uint8_t flags = 0;  // W3C trace flags of the span
  std::uint32_t severity = 0;
  std::int64_t unix_ns = 0;           // when it happened
  std::int64_t observed_unix_ns = 0;  // when it was recorded
  std::span<const std::byte> items;   // body and attributes
};

class LogEncoder {
 public:
  using NameSource = SpanEncoder::NameSource;

  /// Of the limits those of attributes and values hold.
  LogEncoder(NameSource names, const Limits& limits, std::vector<std::string> redacted_keys);

  /// Appends the record as an element of ScopeLogs.log_records: tag, length, message.
  void encode(const LogRecord& record, std::string& out);

 private:
  NameSource names_;
  Limits limits_;
  std::vector<std::string> redacted_keys_;
};

}  // namespace lens::otlp
