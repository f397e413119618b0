// SPDX-License-Identifier: Apache-2.0
// What became of a request to a collector, as libcurl and the server say it; src/export/outcome.h says what it means.
#pragma once

#include <cstdint>
#include <string>

#include "src/export/proxy.h"

namespace lens::exporting {

/// What became of a request: either curl_code is 0 and the rest is the answer, or curl_code and error say why none, or
/// not all of it, came.
struct Response {
  int curl_code = 0;
  std::string error = {};
  std::uint64_t request_bytes = 0, sent_bytes = 0;  // of the body
  bool connected = false;                           // to the proxy, where there is one
  bool reset = false;                               // by the other side, once there was a connection
  bool begun = false;                               // the request was: TLS, where there is any, stands
  bool answered = false;                            // something of an answer has come
  bool by_known_server = false;                     // an earlier request got its answer
  bool unsent = false;                              // the request was longer than one may be, and stayed here
  bool too_large = false;                           // the answer exceeded what is read of one, and was cut off
  Proxy proxy = {};
  long tunnel_status = 0;  // the proxy's answer where a tunnel was asked for; 0: none came
  long http_status = 0;
  int http_major = 0;
  std::string content_type = {}, retry_after = {}, location = {};
  std::string grpc_status = {}, grpc_message = {}, grpc_details = {};  // as they came: percent-encoded, base64
  bool unread = false;       // longer than any that has something to say: the body is not kept
  bool has_message = false;  // gRPC's has come whole
  bool broken = false;       // gRPC's is cut or damaged
  std::string body = {};     // the message of it, where it is gRPC
};

/// By its type of content: another server's page is not.
bool is_of_grpc(const Response& response);

}  // namespace lens::exporting
