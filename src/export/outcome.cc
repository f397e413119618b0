// SPDX-License-Identifier: Apache-2.0
#include "src/export/outcome.h"

#include <curl/curl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/otlp/export_response.h"

namespace lens::exporting {
namespace {

using Kind = Outcome::Kind;
using Reason = Outcome::Reason;

constexpr std::size_t most_message_characters = 300;

enum GrpcStatus {
  ok = 0,
  cancelled = 1,
  deadline_exceeded = 4,
  permission_denied = 7,
  resource_exhausted = 8,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

std::string_view grpc_name(int status) {
  static constexpr std::array<std::string_view, 17> names = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return status >= 0 && std::size_t(status) < names.size() ? names[std::size_t(status)] : "unknown status";
}

/// Text from outside, for one line of a log.
std::string one_line(std::string_view text) {
  std::string line = base::repaired_utf8(text);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return std::string(base::first_characters(base::trim(line), most_message_characters));
}

std::string with(std::string what, std::string_view detail) {
  const std::string line = one_line(detail);
  return line.empty() ? what : what + ": " + line;
}

// Servers say in words that it was the size: gRPC has one status for this and for quotas, and the collector answers
// 400.
bool speaks_of_size(std::string_view message) {
  const std::string text = base::lower(message);
  return text.find("large") != std::string::npos || text.find("message size") != std::string::npos;
}

std::string base64_decoded(std::string_view text) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  return bytes;
}

/// Seconds, or a date of HTTP.
std::optional<std::chrono::milliseconds> retry_after(const std::string& header) {
  std::int64_t seconds = 0;
  const char* end = header.data() + header.size();
  if (header.empty()) return std::nullopt;
  if (const auto read = std::from_chars(header.data(), end, seconds); read.ec == std::errc{} && read.ptr == end) {
    constexpr std::int64_t year = 366 * 24 * 3600;
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, year));
  }
  const time_t date = curl_getdate(header.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::chrono::seconds(std::max<time_t>(date - time(nullptr), 0));
}

// ---- no answer, or none that can be read

std::string wrong_protocol(const Endpoint& endpoint, OtlpProtocol protocol) {
  if (protocol == OtlpProtocol::grpc)
    return endpoint.url +
           " does not seem to speak gRPC: if it is a collector's HTTP port, set "
           "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or name "
           "its gRPC port (4317)";
  return endpoint.url +
         " does not seem to speak HTTP/1.1: if it is a collector's gRPC port, set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or "
         "name its "
         "HTTP port (4318)";
}

/// A gRPC server refuses a message as soon as it has read its length, and takes no more of it. libcurl 7.88 then gives
/// up without the answer. No collector can be set to refuse less than a mebibyte, and few requests are larger.
bool was_closed_for_size(const Response& response) {
  constexpr std::uint64_t least_limit_bytes = 1 << 20;
  return response.curl_code == CURLE_HTTP2_STREAM && response.request_bytes > least_limit_bytes &&
         response.sent_bytes < response.request_bytes;
}

Reason reason_of(int curl_code) {
  switch (curl_code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return Reason::host_name;
    case CURLE_COULDNT_CONNECT: return Reason::connection;
    case CURLE_OPERATION_TIMEDOUT: return Reason::timeout;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION: return Reason::tls;
    case CURLE_UNSUPPORTED_PROTOCOL:  // it began with something that is no HTTP/1.1
    case CURLE_HTTP2:                 // no frame of HTTP/2
    case CURLE_WEIRD_SERVER_REPLY: return Reason::protocol;
    default: return Reason::other;
  }
}

Outcome unanswered(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  if (was_closed_for_size(response))
    return {.kind = Kind::too_large,
            .reason = Reason::other,
            .cause = "too_large",
            .message = endpoint.url + " did not take all of a large request (" +
                       std::to_string(response.request_bytes) + " bytes)"};
  // To libcurl, a server of HTTP/1.1 has said nothing where it expects HTTP/2.
  const bool nothing_in_http2 = protocol == OtlpProtocol::grpc && response.curl_code == CURLE_GOT_NOTHING;
  Outcome outcome{.kind = Kind::retry,
                  .reason = nothing_in_http2 ? Reason::protocol : reason_of(response.curl_code),
                  .cause = response.curl_code == CURLE_OPERATION_TIMEDOUT ? "timeout" : "connection",
                  .message = with("cannot reach " + endpoint.url, response.error)};
  if (outcome.reason == Reason::protocol)
    outcome.message = wrong_protocol(endpoint, protocol) + " (" + one_line(response.error) + ")";
  switch (response.curl_code) {
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:  // a server of HTTP/1.1 may close before its answer is read
      if (response.answered) break;
      if (protocol == OtlpProtocol::grpc) {
        outcome.reason = Reason::protocol;
        outcome.message +=
            "; is this the collector's gRPC port (4317)? For its HTTP port set "
            "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf";
      }
      if (endpoint.url.starts_with("http://"))
        outcome.message += "; if the collector wants TLS, write https:// before the endpoint";
      break;
    case CURLE_SSL_CONNECT_ERROR:
      outcome.message += "; if the collector takes connections without TLS, write http:// before the endpoint";
      break;
    case CURLE_PEER_FAILED_VERIFICATION:
      outcome.message += "; OTEL_EXPORTER_OTLP_CERTIFICATE names the authorities to trust";
      break;
    default: break;
  }
  return outcome;
}

// ---- HTTP

std::string http_detail(const Response& response) {
  if (response.content_type.starts_with("application/json")) return otlp::json_message(response.body);
  if (response.content_type.starts_with("application/x-protobuf")) return otlp::response_status(response.body).message;
  return response.content_type.starts_with("text/plain") ? response.body : std::string();
}

std::string_view http_remedy(long status) {
  switch (status) {
    case 401:
    case 403: return "; OTEL_EXPORTER_OTLP_HEADERS holds the credentials";
    case 404: return "; is the path right? /v1/traces is appended to OTEL_EXPORTER_OTLP_ENDPOINT only";
    case 415: return "; is this the collector's HTTP port (4318)?";
    default: return "";
  }
}

Reason http_reason(long status) {
  if (status >= 300 && status < 400) return Reason::path;
  switch (status) {
    case 401:
    case 403: return Reason::credentials;
    case 404:
    case 405: return Reason::path;
    case 415: return Reason::protocol;
    default: return Reason::other;
  }
}

Outcome accepted(const otlp::PartialSuccess& partial, bool unread, Signal signal) {
  Outcome outcome;
  if (unread) outcome.message = "the collector answered more than can be read: what it rejected is not known";
  outcome.rejected = static_cast<std::uint64_t>(std::max<std::int64_t>(partial.rejected, 0));
  if (outcome.rejected > 0) outcome.cause = "rejected";
  const char* items = signal == Signal::traces ? " spans" : " data points";
  if (outcome.rejected > 0)
    outcome.message = with("the collector rejected " + std::to_string(outcome.rejected) + items, partial.message);
  else if (!partial.message.empty())
    outcome.message = with("the collector warns", partial.message);
  return outcome;
}

Outcome http_outcome(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  const long status = response.http_status;
  if (status >= 200 && status < 300)
    return accepted(protocol == OtlpProtocol::http_json || response.content_type.starts_with("application/json")
                        ? otlp::partial_success_of_json(response.body)
                        : otlp::partial_success(response.body),
                    response.unread, endpoint.signal);
  Outcome outcome{.kind = Kind::refused, .reason = http_reason(status), .cause = std::to_string(status)};
  const std::string detail = http_detail(response);
  const bool redirect = status >= 300 && status < 400;
  outcome.message = with(endpoint.url + " answered " + std::to_string(status), redirect ? response.location : detail);
  outcome.message += http_remedy(status);
  if (status == 429 || status == 502 || status == 503 || status == 504) {
    outcome.kind = Kind::retry;
    outcome.retry_after = retry_after(response.retry_after);
  } else if (status == 413 || (status == 400 && speaks_of_size(detail))) {
    outcome.kind = Kind::too_large;
  } else if (!response.grpc_status.empty()) {
    outcome.reason = Reason::protocol;
    outcome.message = wrong_protocol(endpoint, protocol);
  }
  return outcome;
}

// ---- gRPC

/// What gRPC takes an HTTP answer without a status of its own for.
int status_of_http(long http_status) {
  switch (http_status) {
    case 401: return unauthenticated;
    case 403: return permission_denied;
    case 404: return unimplemented;
    case 200: return unavailable;  // ended before its trailers
    case 429:
    case 502:
    case 503:
    case 504: return unavailable;
    default: return -1;
  }
}

int status_of(const Response& response) {
  int status = -1;
  const char* end = response.grpc_status.data() + response.grpc_status.size();
  const auto read = std::from_chars(response.grpc_status.data(), end, status);
  return read.ec == std::errc{} && read.ptr == end ? status : status_of_http(response.http_status);
}

Kind kind_of(int status, bool has_retry_info, std::string_view message) {
  switch (status) {
    case resource_exhausted:
      if (has_retry_info) return Kind::retry;
      return speaks_of_size(message) ? Kind::too_large : Kind::refused;
    case out_of_range: return speaks_of_size(message) ? Kind::too_large : Kind::retry;
    case cancelled:
    case deadline_exceeded:
    case aborted:
    case unavailable:
    case data_loss: return Kind::retry;
    default: return Kind::refused;
  }
}

Reason grpc_reason(int status) {
  switch (status) {
    case permission_denied:
    case unauthenticated: return Reason::credentials;
    case unimplemented: return Reason::path;
    case deadline_exceeded: return Reason::timeout;
    default: return Reason::other;
  }
}

std::string_view grpc_remedy(int status) {
  switch (status) {
    case permission_denied:
    case unauthenticated: return "; OTEL_EXPORTER_OTLP_HEADERS holds the credentials";
    case unimplemented: return "; is this the collector's OTLP/gRPC port (4317)?";
    default: return "";
  }
}

Outcome grpc_outcome(const Response& response, const Endpoint& endpoint) {
  const int status = status_of(response);
  if (response.http_major == 1)
    return {.kind = Kind::retry,
            .reason = Reason::protocol,
            .cause = "connection",
            .message = wrong_protocol(endpoint, OtlpProtocol::grpc)};
  if (status == ok) return accepted(otlp::partial_success(response.body), response.unread, endpoint.signal);
  const otlp::ResponseStatus details = otlp::response_status(base64_decoded(response.grpc_details));
  // A message that is not encoded right stays as it came.
  const std::string message = base::percent_decoded(response.grpc_message).value_or(response.grpc_message);
  Outcome outcome{.kind = kind_of(status, details.retry_delay.has_value(), message),
                  .reason = grpc_reason(status),
                  .retry_after = details.retry_delay};
  const bool from_http = response.grpc_status.empty();
  outcome.cause = std::string(grpc_name(status));
  outcome.message =
      with(endpoint.url + " answered " + (from_http ? "HTTP " + std::to_string(response.http_status) : outcome.cause),
           message);
  outcome.message += grpc_remedy(status);
  return outcome;
}

}  // namespace

Outcome outcome_of(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  if (response.too_large)
    return {.kind = Kind::refused,
            .reason = Reason::other,
            .cause = "answer_too_large",
            .message = endpoint.url + " answered with more than 4 MiB, which was cut off"};
  if (response.curl_code != CURLE_OK) return unanswered(response, endpoint, protocol);
  return protocol == OtlpProtocol::grpc ? grpc_outcome(response, endpoint) : http_outcome(response, endpoint, protocol);
}

}  // namespace lens::exporting
