// SPDX-License-Identifier: Apache-2.0
#include "src/export/endpoint.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "src/base/text.h"

namespace lens::exporting {
namespace {

constexpr std::string_view grpc_port = "4317", http_port = "4318";

struct Parts {
  std::string scheme = {};  // in lower case; empty: none was written
  std::string host = {};    // brackets of an IPv6 address included
  std::string port = {};
  std::string path = {};  // and query
};

[[noreturn]] void reject(const std::string& endpoint, std::string_view why) {
  throw std::invalid_argument("\"" + without_credentials(endpoint) + "\" is not an OTLP endpoint: " + std::string(why));
}

void split_authority(const std::string& endpoint, std::string_view authority, Parts& parts) {
  if (authority.find('@') != std::string_view::npos)
    reject(endpoint, "credentials belong into OTEL_EXPORTER_OTLP_HEADERS");
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) reject(endpoint, "an address in brackets has no end");
  const std::size_t colon = authority.find(':', bracket);
  parts.host = authority.substr(0, colon);
  if (colon != std::string_view::npos) parts.port = authority.substr(colon + 1);
  if (parts.host.empty()) reject(endpoint, "it names no host");
  unsigned port = 1;
  const char* end = parts.port.data() + parts.port.size();
  const auto read = std::from_chars(parts.port.data(), end, port);
  if (colon != std::string_view::npos && (read.ec != std::errc{} || read.ptr != end || port < 1 || port > 65'535))
    reject(endpoint, "the port is no number from 1 to 65535");
}

Parts parse(const std::string& endpoint) {
  const auto forbidden = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (std::ranges::any_of(endpoint, forbidden)) reject(endpoint, "it holds spaces or control characters");
  Parts parts;
  std::string_view rest = endpoint;
  if (const auto mark = rest.find("://"); mark != std::string_view::npos) {
    parts.scheme = base::lower(rest.substr(0, mark));
    rest.remove_prefix(mark + 3);
    // gRPC's own way to write a name: dns://[authority]/host:port.
    if (parts.scheme == "dns") {
      rest.remove_prefix(std::min(rest.find('/'), rest.size() - 1) + 1);
      parts.scheme.clear();
    }
  }
  if (!parts.scheme.empty() && parts.scheme != "http" && parts.scheme != "https")
    reject(endpoint, "the scheme must be http, https or unix");
  const std::size_t authority = std::min(rest.find_first_of("/?#"), rest.size());
  split_authority(endpoint, rest.substr(0, authority), parts);
  parts.path = rest.substr(authority, rest.find('#', authority) - authority);
  return parts;
}

std::string grpc_path(Signal signal) {
  const std::string name(signal_name(signal));
  const std::string service = signal == Signal::traces    ? "TraceService"
                              : signal == Signal::metrics ? "MetricsService"
                                                          : "LogsService";
  return "/opentelemetry.proto.collector." + (signal == Signal::traces ? "trace" : name) + ".v1." + service + "/Export";
}

std::string http_path(const Parts& parts, bool is_full, Signal signal) {
  const std::size_t query = std::min(parts.path.find('?'), parts.path.size());
  std::string path = parts.path.substr(0, query);
  if (path.empty()) path = "/";
  if (!is_full) {
    if (path.back() != '/') path += '/';
    path += "v1/";
    path += signal_name(signal);
  }
  return path + parts.path.substr(query);
}

std::string socket_path(const std::string& endpoint) {
  std::string path = endpoint.substr(std::string_view("unix:").size());
  if (path.starts_with("//")) path.erase(0, 2);
  if (path.empty()) reject(endpoint, "it names no socket");
  return path;
}

}  // namespace

Endpoint endpoint_of(const OtlpConfig& config, Signal signal) {
  const bool grpc = config.protocol == OtlpProtocol::grpc;
  if (config.endpoint.starts_with("unix:")) {
    const std::string path = grpc ? grpc_path(signal) : http_path({}, false, signal);
    return {"http://localhost" + path, socket_path(config.endpoint), signal};
  }
  if (config.endpoint.empty()) {
    const Parts local{"http", "localhost", std::string(grpc ? grpc_port : http_port), {}};
    return {
        "http://localhost:" + local.port + (grpc ? grpc_path(signal) : http_path(local, false, signal)), {}, signal};
  }
  Parts parts = parse(config.endpoint);
  if (grpc) {
    if (parts.scheme.empty()) parts.scheme = config.insecure ? "http" : "https";
    if (parts.port.empty()) parts.port = grpc_port;
    return {parts.scheme + "://" + parts.host + ":" + parts.port + grpc_path(signal), {}, signal};
  }
  if (parts.scheme.empty()) reject(config.endpoint, "with http it must begin with http:// or https://");
  if (!parts.port.empty()) parts.host += ":" + parts.port;
  return {parts.scheme + "://" + parts.host + http_path(parts, config.endpoint_is_full, signal), {}, signal};
}

Server server_of(const Endpoint& endpoint) {
  if (!endpoint.unix_socket.empty()) return {endpoint.unix_socket, 0};
  const Parts parts = parse(endpoint.url);
  std::string address = parts.host;
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  const int port = parts.port.empty() ? (parts.scheme == "https" ? 443 : 80) : std::stoi(parts.port);
  return {address, port};
}

std::string server_name(const Endpoint& endpoint) {
  if (!endpoint.unix_socket.empty()) return "unix:" + endpoint.unix_socket;
  const std::size_t host = endpoint.url.find("://") + 3;
  return endpoint.url.substr(0, endpoint.url.find_first_of("/?", host));
}

std::string without_credentials(std::string_view url) {
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  // Behind a colon or an @, "://" is part of a password.
  const std::size_t scheme = url.find_first_of(":@");
  const std::size_t host = url.substr(scheme).starts_with("://") ? scheme + 3 : 0;
  return std::string(url.substr(0, host)) + "…" + std::string(url.substr(at));
}

}  // namespace lens::exporting
