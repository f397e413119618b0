// SPDX-License-Identifier: Apache-2.0
// What it means that a request got no answer: the server, or the proxy before it, cannot be reached, speaks something
// else, or ends the connection.
#pragma once

#include <string>

#include "src/export/outcome.h"

namespace lens::exporting {

/// Of a response whose curl_code says that there is none.
Outcome unanswered(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol);

/// Whether it is the proxy that cannot be reached or refuses, and not the server.
bool is_of_proxy(const Response& response);
Outcome outcome_of_proxy(const Response& response, const Endpoint& endpoint);
/// Which proxy stood between, to be added to a message: without it the server is taken for the one that failed.
std::string through(const Proxy& proxy);

}  // namespace lens::exporting
