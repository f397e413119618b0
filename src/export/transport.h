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
#include "src/export/response.h"

namespace lens::exporting {

struct Transfer;

class Transport {
 public:
  // OTLP's own bound.
  static constexpr std::size_t most_request_bytes = 64 << 20;  // before it is compressed

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
  struct Headers;

  void find_authorities();
  void configure_http(Transfer& transfer);
  void configure_http2(Transfer& transfer);
  void configure_authorities(Transfer& transfer);
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
