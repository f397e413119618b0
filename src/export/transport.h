// SPDX-License-Identifier: Apache-2.0
// Carries OTLP requests to one endpoint: gRPC (a framed HTTP/2 POST with trailers) and HTTP, both by libcurl, which
// keeps the connections.
//
// Threads:   one at a time, which never waits here: `poll` does what can be done at once. Resolving a host's name takes
//            a thread of libcurl's meanwhile.
// Errors:    whatever becomes of a request is in its response. The constructor throws std::runtime_error when libcurl
//            cannot be had.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/export/endpoint.h"
#include "src/export/proxy.h"
#include "src/export/request_body.h"

namespace lens::exporting {

/// What became of a request: either curl_code is 0 and the rest is the answer, or curl_code and error say why none, or
/// not all of it, came.
struct Response {
  int curl_code = 0;
  std::string error = {};
  std::uint64_t request_bytes = 0, sent_bytes = 0;  // of the body
  bool connected = false;                           // to the proxy, where there is one
  bool begun = false;                               // the request was: TLS, where there is any, stands
  bool answered = false;                            // something of an answer has come
  bool by_known_server = false;                     // an earlier request got its answer
  bool unsent = false;                              // the request exceeded most_request_bytes, and stayed here
  bool too_large = false;                           // the answer exceeded most_response_bytes, and was cut off
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

class Transport {
 public:
  // OTLP's own bounds.
  static constexpr std::size_t most_request_bytes = 64 << 20;  // before it is compressed
  static constexpr std::size_t most_response_bytes = 4 << 20;  // decompressed

  Transport(const OtlpConfig& config, Endpoint endpoint);
  /// What is under way is given up at once.
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  struct Settled {
    std::uint64_t id;
    Response response;
  };

  /// Begins to send an OTLP protobuf request; `id` comes back with its response. What `request` borrows must stay until
  /// then.
  void send(std::uint64_t id, const TwoPieces& request);
  /// Drives transfers; what has been settled since the last call.
  std::vector<Settled> poll();
  /// Waits until a transfer can go on, the descriptor `wake` (-1: none) can be read, or `most` is over.
  void wait(int wake, std::chrono::milliseconds most);
  /// Ends what is under way, without an answer.
  void give_up() noexcept;
  bool is_idle() const noexcept { return transfers_.empty() && unsent_.empty(); }
  /// Whether anything of what is under way has found its way out: there is a connection.
  bool has_sent() const noexcept { return moved_bytes() > 0; }
  /// That something of what is under way goes through, once libcurl has come to it.
  Proxy proxy() const;
  /// Of what is under way, held here beside what the requests borrow: bodies that are JSON or compressed.
  std::size_t held_bytes() const noexcept;

  const Endpoint& endpoint() const noexcept { return endpoint_; }
  OtlpProtocol protocol() const noexcept { return config_.protocol; }

 private:
  struct Transfer;
  struct Headers;

  void find_authorities();
  void configure(Transfer& transfer);
  void configure_http2(Transfer& transfer);
  void configure_tls(Transfer& transfer);
  void configure_authorities(Transfer& transfer);
  static std::string error_of(const Transfer& transfer, int code);
  std::optional<Settled> settle(void* handle, int code);
  bool is_answer(const Response& response) const;
  bool begins_anew(Transfer& transfer, int code);
  bool trusts_others(Transfer& transfer, int& code);
  bool begin_again(Transfer& transfer);
  std::size_t moved_bytes() const noexcept;

  OtlpConfig config_;
  Endpoint endpoint_;
  std::unique_ptr<Headers> headers_;
  void* multi_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<Settled> unsent_;
  std::vector<int> sockets_;  // open ones
  // Whom to trust: what libcurl was built with, and in place of the file the one that the configuration names.
  std::string authority_file_, authority_directory_;
  bool trusts_directory_ = false;      // rather than the file
  bool may_keep_plain_http2_ = false;  // a connection that the next request can go by
  bool has_been_answered_ = false;
};

}  // namespace lens::exporting
