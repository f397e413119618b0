// SPDX-License-Identifier: Apache-2.0
#include "src/export/outcome.h"

#include <curl/curl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/export/outcome_text.h"
#include "src/export/unanswered.h"
#include "src/otlp/export_response.h"

namespace lens::exporting {
namespace {

using Kind = Outcome::Kind;
using Reason = Outcome::Reason;

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

bool holds(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// Servers say in words that it was the size: gRPC has one status for this and for quotas, and the collector answers
// 400. It is about the request, not about a value in it or a trace that has grown too large.
bool speaks_of_size(std::string_view message) {
  const std::string text = base::lower(message);
  return holds(text, {"request", "message", "body", "payload", "entity"}) &&
         (holds(text, {"too large", "too big", "larger than"}) ||
          (holds(text, {"exceed"}) && holds(text, {"size", "length"})));
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
  constexpr std::int64_t year = 366 * 24 * 3600;
  std::int64_t seconds = 0;
  const char* end = header.data() + header.size();
  if (header.empty()) return std::nullopt;
  if (const auto read = std::from_chars(header.data(), end, seconds); read.ec == std::errc{} && read.ptr == end) {
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, year));
  } else if (read.ec == std::errc::result_out_of_range && read.ptr == end) {
    return std::chrono::seconds(header.starts_with('-') ? 0 : year);
  }
  const time_t date = curl_getdate(header.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::chrono::seconds(std::max<time_t>(date - time(nullptr), 0));
}

/// Who answered: the server, where all signals get the same answer, else the signal's address there.
std::string answerer(const Outcome& outcome, const Endpoint& endpoint) {
  const bool is_of_server = outcome.kind == Kind::retry || outcome.reason == Reason::credentials;
  return is_of_server ? server_name(endpoint) : endpoint.url;
}

// ---- HTTP

std::string http_detail(const Response& response) {
  if (response.content_type.starts_with("application/json")) return otlp::json_message(response.body);
  if (response.content_type.starts_with("application/x-protobuf")) return otlp::response_status(response.body).message;
  return response.content_type.starts_with("text/plain") ? response.body : std::string();
}

std::string http_remedy(long status, Signal signal) {
  switch (status) {
    case 401:
    case 403: return "; OTEL_EXPORTER_OTLP_HEADERS holds the credentials";
    case 404:
      return "; is the path right? /v1/" + std::string(signal_name(signal)) +
             " is appended to OTEL_EXPORTER_OTLP_ENDPOINT only";
    case 415: return "; is this the collector's HTTP port (4318)?";
    default: return "";
  }
}

/// Without its parameters, in lower case.
std::string media_type(const Response& response) {
  const std::string_view type = response.content_type;
  return base::lower(base::trim(type.substr(0, type.find(';'))));
}

/// As web servers answer on a port of theirs for TLS, in a page or in plain text: Go's, nginx, Apache, Tomcat, Cheroot.
/// What OTLP receivers say comes in another type, and may quote anything.
bool speaks_of_tls(const Response& response, const Endpoint& endpoint) {
  if (response.http_status != 400 || response.by_known_server || !is_plain(endpoint)) return false;
  const std::string type = media_type(response);
  return (type.empty() || type.starts_with("text/")) &&
         holds(base::lower(response.body),
               {"client sent an http request to an https server", "the plain http request was sent to https port",
                "speaking plain http to an ssl-enabled server port", "this combination of host and port requires tls",
                "the client sent a plain http request, but this server only speaks https"});
}

/// Of a server of gRPC that takes calls by HTTP/1.1 too. A status of gRPC alone says less: others send one along.
bool is_answer_of_grpc(const Response& response) { return media_type(response).starts_with("application/grpc"); }

Reason http_reason(long status) {
  switch (status) {
    case 401:
    case 403: return Reason::credentials;
    case 404:
    case 405: return Reason::path;
    case 415: return Reason::protocol;
    default: return Reason::other;
  }
}

Outcome accepted(const otlp::PartialSuccess& partial, const Response& response, Signal signal) {
  Outcome outcome;
  if (response.unread) outcome.message = "the collector answered more than can be read: what it rejected is not known";
  if (response.broken) outcome.message = "the collector's answer is cut or damaged: what it rejected is not known";
  outcome.rejected = static_cast<std::uint64_t>(std::max<std::int64_t>(partial.rejected, 0));
  if (outcome.rejected > 0) outcome.cause = "rejected";
  if (outcome.rejected > 0)
    outcome.message =
        with("the collector rejected " + base::counted(outcome.rejected, item_of(signal)), partial.message);
  else if (!partial.message.empty())
    outcome.message = with("the collector warns", partial.message);
  return outcome;
}

/// A word such as "OK", and no page.
bool is_plain_text(std::string_view body) {
  const auto is_control = [](unsigned char c) { return (c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 0x7f; };
  return base::is_utf8(body) && std::ranges::none_of(body, is_control) && !base::trim(body).starts_with('<');
}

/// What a success says, where it can be an OTLP receiver's. Real ones also answer with nothing at all, in JSON to
/// protobuf, and with a word of plain text. A login page or a web server's page is none: who takes it for a success
/// loses the spans.
std::optional<otlp::PartialSuccess> success_of(const Response& response) {
  if (response.body.empty() && !response.unread) return otlp::PartialSuccess();
  const std::string type = media_type(response);
  static constexpr std::string_view protobuf[] = {"application/x-protobuf", "application/protobuf",
                                                  "application/vnd.google.protobuf", "application/octet-stream"};
  const bool is_protobuf = std::ranges::find(protobuf, type) != std::end(protobuf);
  const bool is_json = type == "application/json" || type == "text/json";
  const bool is_text = type.empty() || type == "text/plain";
  if (!is_protobuf && !is_json && !is_text) return std::nullopt;
  if (response.unread) return otlp::PartialSuccess();
  auto partial = otlp::partial_success(response.body);
  const bool may_be_word = is_text || (is_json && !response.body.starts_with('{'));  // "ok" is JSON too
  if (!partial && may_be_word && is_plain_text(response.body)) partial.emplace();
  return partial;
}

/// It may be mended by who set the endpoint, and nothing is lost until then.
Outcome not_taken(Reason reason, std::string cause, std::string message) {
  return {.kind = Kind::retry,
          .reason = reason,
          .cause = std::move(cause),
          .message = std::move(message),
          .same_each_time = true};
}

Outcome wants_tls(const Endpoint& endpoint) {
  return not_taken(Reason::tls, "connection",
                   server_name(endpoint) + " speaks TLS: write https:// before the endpoint");
}

Outcome not_otlp(const Response& response, const Endpoint& endpoint) {
  const std::string type = one_line(media_type(response));
  const std::string what = type.empty() ? "what" : type + " that";
  return not_taken(Reason::protocol, "not_otlp",
                   server_name(endpoint) + " answered " + std::to_string(response.http_status) + " with " + what +
                       " is no answer of OTLP: a login page, a proxy or another web server may stand there; check "
                       "OTEL_EXPORTER_OTLP_ENDPOINT, its port and its path");
}

Outcome redirected(const Response& response, const Endpoint& endpoint) {
  const std::string status = std::to_string(response.http_status);
  Outcome outcome = not_taken(Reason::path, status, with(endpoint.url + " answered " + status, response.location));
  outcome.message +=
      "; a redirect is not followed: OTEL_EXPORTER_OTLP_ENDPOINT must name where it leads, if that is the collector";
  outcome.same_each_time = false;  // login pages are given a number in their address
  return outcome;
}

Outcome http_outcome(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  const long status = response.http_status;
  if (is_answer_of_grpc(response)) return not_taken(Reason::protocol, "connection", wrong_protocol(endpoint, protocol));
  if (status >= 200 && status < 300)
    if (const auto success = success_of(response)) return accepted(*success, response, endpoint.signal);
  if (status >= 200 && status < 300) return not_otlp(response, endpoint);
  if (status >= 300 && status < 400) return redirected(response, endpoint);
  if (speaks_of_tls(response, endpoint)) return wants_tls(endpoint);
  Outcome outcome{.kind = Kind::refused, .reason = http_reason(status), .cause = std::to_string(status)};
  const std::string detail = http_detail(response);
  if (status == 429 || status == 502 || status == 503 || status == 504) {
    outcome.kind = Kind::retry;
    outcome.retry_after = retry_after(response.retry_after);
  } else if (status == 413 || (status == 400 && speaks_of_size(detail))) {
    outcome.kind = Kind::too_large;
  }
  outcome.message = with(answerer(outcome, endpoint) + " answered " + std::to_string(status), detail);
  outcome.message += http_remedy(status, endpoint.signal);
  return outcome;
}

// ---- gRPC

/// What gRPC takes an HTTP answer without a status of its own for.
int status_of_http(long http_status) {
  switch (http_status) {
    case 401: return unauthenticated;
    case 403: return permission_denied;
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

/// Whether this is an answer of HTTP where one of gRPC was wanted: a gateway's, whose status is known, is not.
bool is_of_http(const Response& response) {
  const long status = response.http_status;
  const bool is_success = status >= 200 && status < 300;
  const bool is_page = !response.content_type.empty() && !response.content_type.starts_with("application/grpc");
  const bool is_elsewhere = (status >= 300 && status < 400) || status == 404 || status == 405 || status == 415;
  return response.http_major == 1 || (response.grpc_status.empty() && (is_elsewhere || (is_success && is_page)));
}

/// A server sends the message of a unary call with status OK only. libcurl 7.88 loses the trailers, which hold the
/// status, where the server says at the same time that it closes the connection.
bool is_success_without_trailers(const Response& response) {
  return is_of_grpc(response) && response.http_status == 200 && response.grpc_status.empty() && response.has_message &&
         otlp::partial_success(response.body);
}

/// Whatever became of the connection behind it.
bool is_whole_grpc(const Response& response) {
  return is_of_grpc(response) && (!response.grpc_status.empty() || is_success_without_trailers(response));
}

Outcome grpc_outcome(const Response& response, const Endpoint& endpoint) {
  if (speaks_of_tls(response, endpoint)) return wants_tls(endpoint);
  if (is_of_http(response))
    return not_taken(Reason::protocol, "connection", wrong_protocol(endpoint, OtlpProtocol::grpc));
  const int status = is_success_without_trailers(response) ? ok : status_of(response);
  const bool from_http = response.grpc_status.empty();
  if (status == ok)
    return accepted(otlp::partial_success(response.body).value_or(otlp::PartialSuccess()), response, endpoint.signal);
  const otlp::ResponseStatus details = otlp::response_status(base64_decoded(response.grpc_details));
  // A message that is not encoded right stays as it came.
  const std::string message = base::percent_decoded(response.grpc_message).value_or(response.grpc_message);
  Outcome outcome{.kind = kind_of(status, details.retry_delay.has_value(), message),
                  .reason = grpc_reason(status),
                  .retry_after = details.retry_delay};
  if (from_http && response.http_status == 413) outcome.kind = Kind::too_large;
  outcome.cause = std::string(grpc_name(status));
  if (from_http && response.http_status == 200) {
    outcome.message = "no whole answer from " + server_name(endpoint) + ": it ended before its status";
    return outcome;
  }
  outcome.message = with(answerer(outcome, endpoint) + " answered " +
                             (from_http ? "HTTP " + std::to_string(response.http_status) : outcome.cause),
                         message);
  outcome.message += grpc_remedy(status);
  return outcome;
}

Outcome outcome_of_server(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  if (response.unsent)
    return {.kind = Kind::too_large,
            .reason = Reason::other,
            .cause = "too_large",
            .message = "a request of " + std::to_string(response.request_bytes) +
                       " bytes is not sent: no request of OTLP holds more than 64 MiB"};
  if (response.too_large)
    return {.kind = Kind::refused,
            .reason = Reason::other,
            .cause = "answer_too_large",
            .message = endpoint.url + " answered with more than 4 MiB, which was cut off"};
  // Who refuses a request before all of it has come may end the connection, or the stream, on the rest.
  const bool is_refused = response.http_status >= 400;
  const bool is_whole = protocol == OtlpProtocol::grpc && is_whole_grpc(response);
  if (response.curl_code != CURLE_OK && !is_refused && !is_whole) return unanswered(response, endpoint, protocol);
  return protocol == OtlpProtocol::grpc ? grpc_outcome(response, endpoint) : http_outcome(response, endpoint, protocol);
}

}  // namespace

Outcome outcome_of(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  const bool by_proxy = is_of_proxy(response);
  Outcome outcome = by_proxy ? outcome_of_proxy(response, endpoint) : outcome_of_server(response, endpoint, protocol);
  if (!by_proxy && outcome.kind != Kind::accepted) outcome.message += through(response.proxy);
  outcome.proxy = response.proxy;
  return outcome;
}

}  // namespace lens::exporting
