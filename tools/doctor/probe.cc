// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/probe.h"

#include <random>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "lens/version.h"
#include "src/base/unix_time.h"
#include "src/otlp/envelope.h"
#include "tools/send/delivery.h"

namespace lens::doctor {
namespace {

using Reason = exporting::Outcome::Reason;
using Clock = std::chrono::steady_clock;

std::string random_id(std::size_t bytes) {
  std::random_device random;
  std::string id;
  while (id.size() < bytes) id += static_cast<char>(random());
  id.back() = static_cast<char>(id.back() | 1);  // zero is no id
  return id;
}

/// A span named lens.doctor, which begins and ends now.
std::string request_of_one_span(const ResourceAttributes& resource) {
  const std::uint64_t now_ns = base::unix_ns_now();
  std::string element;
  {
    protozero::pbf_writer list(element);
    protozero::pbf_writer span(list, 2);
    span.add_bytes(1, random_id(16));
    span.add_bytes(2, random_id(8));
    span.add_string(5, "lens.doctor");
    span.add_enum(6, 1);
    span.add_fixed64(7, now_ns);
    span.add_fixed64(8, now_ns);
  }
  return otlp::Envelope(resource, "lens", version).request(element);
}

std::string_view name_of(Reason reason) {
  switch (reason) {
    case Reason::none: return "ok";
    case Reason::host_name: return "host_name";
    case Reason::connection: return "connection";
    case Reason::connection_timeout:
    case Reason::tls_timeout:
    case Reason::timeout: return "timeout";
    case Reason::tls: return "tls";
    case Reason::protocol: return "protocol";
    case Reason::credentials: return "credentials";
    case Reason::path: return "path";
    case Reason::other: break;
  }
  return "other";
}

std::string remedy_of_silence(std::string_view missing, std::chrono::milliseconds timeout, std::string_view question) {
  return fmt::format("no {} came within {} ms (OTEL_EXPORTER_OTLP_TIMEOUT): {}", missing, timeout.count(), question);
}

/// Beside what the message says.
std::string remedy_of(const exporting::Outcome& outcome, const OtlpConfig& otlp) {
  switch (outcome.reason) {
    case Reason::host_name:
      return "check the host in OTEL_EXPORTER_OTLP_ENDPOINT: its name has no address on this machine";
    case Reason::connection:
      return "is the collector running there, reachable from this machine, and listening on that port (4317 for grpc, "
             "4318 for http)?";
    case Reason::connection_timeout:
      return remedy_of_silence("connection", otlp.timeout,
                               "does a firewall in between drop packets, or is the host down?");
    case Reason::tls_timeout:
      return remedy_of_silence("TLS", otlp.timeout, "the port takes connections; is what listens there no collector?");
    case Reason::timeout:
      return remedy_of_silence("answer", otlp.timeout,
                               "is the collector overloaded, or what listens on that port no collector?");
    case Reason::tls:
      return "OTEL_EXPORTER_OTLP_CERTIFICATE names the authorities that this side trusts, _CLIENT_CERTIFICATE and "
             "_CLIENT_KEY what it shows; an endpoint begins with https:// for TLS, with http:// for none";
    case Reason::credentials: return "such as OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN";
    case Reason::none:
    case Reason::protocol:  // the message says it
    case Reason::path:
    case Reason::other: break;
  }
  return "";
}

std::string hint_at(const exporting::Proxy& proxy) {
  return fmt::format("{} has it go through the proxy {}: does that let it pass? no_proxy names hosts that need none",
                     proxy.variable, proxy.url);
}

}  // namespace

ProbeResult probe(const OtlpConfig& otlp, Signal signal, const ResourceAttributes& resource) {
  send::Delivery delivery({.otlp = otlp, .signal = signal, .give_up_after = std::chrono::milliseconds(0)});
  const bool is_span = signal == Signal::traces;
  const auto began = Clock::now();
  const send::Delivered delivered =
      delivery.deliver(is_span ? request_of_one_span(resource) : std::string(), is_span ? 1 : 0);
  ProbeResult result{.signal = signal};
  result.is_taken = delivered.kind == send::Delivered::Kind::accepted && delivered.rejected == 0;
  result.cause = name_of(delivered.outcome.reason);
  result.destination = delivery.destination();
  result.proxy = delivered.outcome.proxy;
  result.message = delivered.outcome.message;
  result.remedy = result.is_taken ? "" : remedy_of(delivered.outcome, otlp);
  if (!result.is_taken && !result.proxy.empty())
    result.remedy += (result.remedy.empty() ? "" : "; ") + hint_at(result.proxy);
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  return result;
}

}  // namespace lens::doctor
