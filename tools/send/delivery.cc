// SPDX-License-Identifier: Apache-2.0
#include "tools/send/delivery.h"

#include <algorithm>
#include <random>
#include <thread>

namespace lens::send {
namespace {

using exporting::Outcome;
using Kind = Delivered::Kind;

/// Whether no other request would fare better.
bool concerns_all(Outcome::Reason reason) {
  using Reason = Outcome::Reason;
  return reason == Reason::tls || reason == Reason::protocol || reason == Reason::credentials || reason == Reason::path;
}

}  // namespace

Delivery::Delivery(const DeliveryOptions& options, WaitSink on_wait)
    : options_(options),
      on_wait_(std::move(on_wait)),
      transport_(options.otlp, exporting::endpoint_of(options.otlp, options.signal)),
      backoff_(options.retry, std::random_device{}()) {}

Delivered Delivery::deliver(std::string_view request, std::uint64_t items) {
  const auto began = Clock::now();
  for (;;) {
    Outcome outcome = attempt(request);
    switch (outcome.kind) {
      case Outcome::Kind::accepted: {
        backoff_.succeed();
        const std::uint64_t rejected = std::min(outcome.rejected, items);
        return {Kind::accepted, items - rejected, rejected, std::move(outcome)};
      }
      case Outcome::Kind::too_large: return {Kind::too_large, 0, items, std::move(outcome)};
      case Outcome::Kind::refused:
        if (concerns_all(outcome.reason)) return {Kind::not_delivered, 0, 0, std::move(outcome)};
        return {Kind::refused, 0, items, std::move(outcome)};
      case Outcome::Kind::retry:
        if (concerns_all(outcome.reason) || !wait_to_retry(outcome, began))
          return {Kind::not_delivered, 0, 0, std::move(outcome)};
    }
  }
}

std::string Delivery::destination() const {
  const exporting::Endpoint& endpoint = transport_.endpoint();
  return endpoint.unix_socket.empty() ? endpoint.url : "unix:" + endpoint.unix_socket + " " + endpoint.url;
}

Outcome Delivery::attempt(std::string_view request) {
  transport_.send(next_id_++, {{}, request});
  for (;;) {
    const auto settled = transport_.poll();
    if (!settled.empty())
      return exporting::outcome_of(settled.front().response, transport_.endpoint(), transport_.protocol());
    transport_.wait(-1, std::chrono::seconds(1));
  }
}

/// False when the next attempt would come too late.
bool Delivery::wait_to_retry(const Outcome& outcome, Clock::time_point began) {
  const bool is_news = !backoff_.is_failing();
  backoff_.fail(Clock::now(), outcome.retry_after);
  if (backoff_.due() >= began + options_.give_up_after) return false;
  if (is_news && on_wait_) on_wait_(outcome.message);
  std::this_thread::sleep_until(backoff_.due());
  return true;
}

}  // namespace lens::send
