// SPDX-License-Identifier: Apache-2.0
// Brings OTLP requests to a collector, one after the other, by the rules of docs/otlp.md: it tries again where that may
// help. Include it to send what lies on disk; unlike the exporter inside a trainer, it waits.
//
// Errors: the constructor throws std::invalid_argument when the endpoint is none.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/export/outcome.h"
#include "src/export/retry.h"
#include "src/export/transport.h"

namespace lens::send {

struct DeliveryOptions {
  OtlpConfig otlp = {};
  Signal signal = Signal::traces;
  exporting::RetryOptions retry = {};
  std::chrono::milliseconds give_up_after{60'000};  // of one request, over all attempts; 0: after the first
};

/// What became of a request. Its items (spans, metrics or log records) are either accepted or rejected when it was
/// answered for good.
struct Delivered {
  enum class Kind {
    accepted,
    too_large,      // less at a time may be taken
    refused,        // by a collector that takes others: it is about this one
    not_delivered,  // nobody took it, or nobody would take any: endpoint or credentials are to be mended
  };
  Kind kind = Kind::accepted;
  std::uint64_t accepted = 0, rejected = 0;
  exporting::Outcome outcome = {};  // of the last attempt; its message is for people
};

class Delivery {
 public:
  /// Called with the reason before it waits to try again, once until the collector answers.
  using WaitSink = std::function<void(std::string_view)>;

  explicit Delivery(const DeliveryOptions& options, WaitSink on_wait = {});

  /// Blocks until it is decided. `items` as otlp::item_count counts them.
  Delivered deliver(std::string_view request, std::uint64_t items);

  /// For people, and to tell destinations apart: a URL, or the socket and the URL.
  std::string destination() const;

 private:
  using Clock = std::chrono::steady_clock;

  exporting::Outcome attempt(std::string_view request);
  bool wait_to_retry(const exporting::Outcome& outcome, Clock::time_point began);

  DeliveryOptions options_;
  WaitSink on_wait_;
  exporting::Transport transport_;
  exporting::Backoff backoff_;
  std::uint64_t next_id_ = 1;
};

}  // namespace lens::send
