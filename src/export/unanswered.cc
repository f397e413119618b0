// SPDX-License-Identifier: Apache-2.0
#include "src/export/unanswered.h"

#include <curl/curl.h>

#include <algorithm>
#include <iterator>

#include "src/export/outcome_text.h"

namespace lens::exporting {
namespace {

using Kind = Outcome::Kind;
using Reason = Outcome::Reason;

/// A gRPC server refuses a message as soon as it has read its length, and takes no more of it. libcurl 7.88 then gives
/// up without the answer. No collector can be set to refuse less than a mebibyte, and few requests are larger.
bool was_closed_for_size(const Response& response) {
  constexpr std::uint64_t least_limit_bytes = 1 << 20;
  return response.curl_code == CURLE_HTTP2_STREAM && response.request_bytes > least_limit_bytes &&
         response.sent_bytes < response.request_bytes;
}

/// A proxy that does not answer to the request for a tunnel has not begun with TLS.
Reason reason_of_timeout(const Response& response, const Endpoint& endpoint) {
  if (response.begun) return Reason::timeout;
  if (!response.connected) return Reason::connection_timeout;
  const bool awaits_tunnel = !response.proxy.empty() && response.tunnel_status == 0;
  return is_plain(endpoint) || awaits_tunnel ? Reason::timeout : Reason::tls_timeout;
}

Reason reason_of(const Response& response, const Endpoint& endpoint) {
  // What a server that is known to be the right one breaks off is a connection of HTTP/2 for all that.
  if (response.curl_code == CURLE_HTTP2 && response.by_known_server) return Reason::other;
  switch (response.curl_code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return Reason::host_name;
    case CURLE_COULDNT_CONNECT: return Reason::connection;
    case CURLE_OPERATION_TIMEDOUT: return reason_of_timeout(response, endpoint);
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

// ---- the server

/// Something of its answer has come, or its word that it ends the stream.
bool is_known_to_stand_there(const Response& response) {
  return response.http_status > 0 || response.curl_code == CURLE_HTTP2_STREAM;
}

/// A reset may come before libcurl has seen that the connection stood.
bool was_reset_at_once(const Response& response) {
  return response.curl_code == CURLE_COULDNT_CONNECT && response.reset;
}

/// Whether the connection ended before a server that is not known to be the right one had said anything that can be
/// read. In which way it ends is chance: a reset, a write that fails, an end.
bool was_cut_off(const Response& response) {
  static constexpr int ends[] = {CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE};
  const bool ended = std::ranges::find(ends, response.curl_code) != std::end(ends) || response.reset;
  return ended && !response.answered && !response.by_known_server;
}

/// The same while TLS began.
bool was_cut_off_from_tls(const Response& response, const Endpoint& endpoint) {
  const bool is_broken =
      response.curl_code == CURLE_SSL_CONNECT_ERROR &&
      (response.reset || response.error.starts_with("Recv failure") || response.error.starts_with("Send failure") ||
       response.error.find("SSL_ERROR_SYSCALL") != std::string::npos);
  return !is_plain(endpoint) && !response.by_known_server && (is_broken || was_reset_at_once(response));
}

/// What such a server most likely is, by what servers of the other protocol, with and without TLS, do.
void explain_cut_off(Outcome& outcome, const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  outcome.message = server_name(endpoint) + " ended the connection without an answer";
  outcome.same_each_time = true;
  const bool grpc = protocol == OtlpProtocol::grpc;
  const auto hint = [&](std::string_view text) { outcome.message += "; " + std::string(text); };
  if (grpc || !is_plain(endpoint)) hint(hint_at_protocol(protocol));
  if (is_plain(endpoint))
    hint(hint_at_tls);
  else
    hint(
        "if it wants to see a certificate, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY name one that it "
        "trusts");
  const bool got_nothing = response.curl_code == CURLE_GOT_NOTHING;
  if (was_reset_at_once(response)) return;
  if (!is_plain(endpoint))
    outcome.reason = got_nothing ? Reason::protocol : Reason::tls;
  else if (grpc)  // to an alert of TLS, libcurl says that the stream was not closed
    outcome.reason = response.curl_code == CURLE_PARTIAL_FILE ? Reason::tls : Reason::protocol;
  else
    outcome.reason = got_nothing ? Reason::tls : Reason::other;
}

void explain_cut_off_from_tls(Outcome& outcome, const Endpoint& endpoint) {
  outcome.message = server_name(endpoint) + " ended the connection before TLS stood";
  outcome.same_each_time = true;
}

/// The server's list of what it speaks over TLS holds nothing of ours.
bool is_of_other_protocol(const Response& response) {
  return response.curl_code == CURLE_SSL_CONNECT_ERROR &&
         response.error.find("no application protocol") != std::string::npos;
}

/// What is said of a failure before what libcurl says of it.
std::string what_failed(const Response& response, Reason reason) {
  if (reason == Reason::tls_timeout) return "no answer to the beginning of TLS from ";
  if (is_known_to_stand_there(response)) return "no whole answer from ";
  return reason == Reason::timeout ? "no answer from " : "cannot reach ";
}

void explain_wrong_protocol(Outcome& outcome, const Endpoint& endpoint, OtlpProtocol protocol) {
  outcome.message = wrong_protocol(endpoint, protocol);
  // A server of TLS may answer with an alert, which is no HTTP either.
  if (is_plain(endpoint)) outcome.message += "; " + std::string(hint_at_tls);
}

// ---- the proxy before it

constexpr long wants_credentials = 407;

bool is_unreached_proxy(const Response& response) {
  static constexpr int codes[] = {CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY};
  return !response.proxy.empty() && std::ranges::find(codes, response.curl_code) != std::end(codes);
}

bool is_refused_tunnel(const Response& response) {
  return response.tunnel_status != 0 && (response.tunnel_status < 200 || response.tunnel_status >= 300);
}

std::string name_of(const Proxy& proxy) { return "the proxy " + one_line(proxy.url) + " (" + proxy.variable + ")"; }

}  // namespace

Outcome unanswered(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol) {
  if (was_closed_for_size(response))
    return {.kind = Kind::too_large,
            .reason = Reason::other,
            .cause = "too_large",
            .message = endpoint.url + " did not take all of a large request (" +
                       std::to_string(response.request_bytes) + " bytes)"};
  Outcome outcome{.kind = Kind::retry,
                  .reason = reason_of(response, endpoint),
                  .cause = response.curl_code == CURLE_OPERATION_TIMEDOUT ? "timeout" : "connection"};
  outcome.message = with(what_failed(response, outcome.reason) + server_name(endpoint), response.error);
  if (is_of_other_protocol(response)) outcome.reason = Reason::protocol;
  outcome.same_each_time = outcome.reason == Reason::protocol || outcome.reason == Reason::tls;
  if (was_cut_off_from_tls(response, endpoint))
    explain_cut_off_from_tls(outcome, endpoint);
  else if (was_cut_off(response))
    explain_cut_off(outcome, response, endpoint, protocol);
  else if (outcome.reason == Reason::protocol)
    explain_wrong_protocol(outcome, endpoint, protocol);
  if (outcome.reason == Reason::tls_timeout ||
      (outcome.reason == Reason::tls && response.curl_code == CURLE_SSL_CONNECT_ERROR) ||
      was_cut_off_from_tls(response, endpoint))
    outcome.message += "; if the collector takes connections without TLS, write http:// before the endpoint";
  if (response.curl_code == CURLE_SSL_CACERT_BADFILE)
    outcome.message += "; OTEL_EXPORTER_OTLP_CERTIFICATE must name a file of certificates (PEM) that can be read";
  if (response.curl_code == CURLE_SSL_CERTPROBLEM)
    outcome.message +=
        "; OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY must name a certificate (PEM) and "
        "the key that belongs to it";
  if (response.curl_code == CURLE_PEER_FAILED_VERIFICATION)
    outcome.message += "; OTEL_EXPORTER_OTLP_CERTIFICATE names the authorities to trust";
  return outcome;
}

bool is_of_proxy(const Response& response) {
  const bool is_refused = !response.proxy.empty() && response.http_status == wants_credentials;
  return is_unreached_proxy(response) || is_refused_tunnel(response) || is_refused;
}

Outcome outcome_of_proxy(const Response& response, const Endpoint& endpoint) {
  // What helps where a server cannot be reached does not help here: so the reason is another one.
  Outcome outcome{.kind = Kind::retry, .reason = Reason::other, .cause = "connection", .same_each_time = true};
  const std::string proxy = response.proxy.empty() ? "a proxy" : name_of(response.proxy);
  const bool tunnel = is_refused_tunnel(response);
  const long status = tunnel ? response.tunnel_status : response.http_status;
  if (is_unreached_proxy(response))
    outcome.message = with("cannot reach " + proxy, response.error);
  else
    outcome.message = proxy + " refused a " + (tunnel ? "tunnel" : "request") + " to " + server_name(endpoint) +
                      " with " + std::to_string(status);
  if (status == wants_credentials) outcome.message += "; credentials stand in it as http://USER:PASSWORD@HOST:PORT";
  outcome.message += "; no_proxy lists the hosts that are reached without one";
  return outcome;
}

std::string through(const Proxy& proxy) { return proxy.empty() ? "" : "; it went through " + name_of(proxy); }

}  // namespace lens::exporting
