// SPDX-License-Identifier: Apache-2.0
// Where OTLP requests of one signal go: the URL rules of the OpenTelemetry specification.
#pragma once

#include <string>
#include <string_view>

#include "lens/config.h"
#include "src/model/signal.h"

namespace lens::exporting {

struct Endpoint {
  std::string url = {};          // whole, with the path of the signal
  std::string unix_socket = {};  // connected to in place of the URL's host, when not empty
  Signal signal = Signal::traces;
};

/// http: the endpoint is a base that v1/<signal> is appended to, unless it was named for this signal. grpc: the scheme,
/// or where there is none `insecure`, decides about TLS; host:port, unix:PATH and dns:///host:port are endpoints too.
/// Throws std::invalid_argument for what is no endpoint.
Endpoint endpoint_of(const OtlpConfig& config, Signal signal);

/// Who is connected to.
struct Server {
  std::string address;  // of a host, or a socket's path
  int port;             // 0: it is a socket
};
Server server_of(const Endpoint& endpoint);
/// The same for people, alike for all signals: a URL without its path, or unix:PATH.
std::string server_name(const Endpoint& endpoint);

/// How a URL from outside is shown: "http://user:password@host" without what stands before its last @. That may hold
/// slashes, which a URL may not have there, in a password that somebody wrote as it is.
std::string without_credentials(std::string_view url);

}  // namespace lens::exporting
