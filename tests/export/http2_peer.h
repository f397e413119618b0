// SPDX-License-Identifier: Apache-2.0
// A server of HTTP/2 on loopback, frame by frame: it ends calls and connections as no gRPC server can be told to.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/export/loopback_server.h"

namespace lens::tests {

namespace http2 {

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Of a gRPC answer with HTTP status 200.
std::string response_headers(std::uint32_t stream);
std::string data(std::uint32_t stream, std::string_view bytes);
std::string trailers(std::uint32_t stream, Fields fields);
/// Streams up to `last_stream` are still answered.
std::string go_away(std::uint32_t last_stream);
/// The server has not looked at the request of this stream, and will not.
std::string refused_stream(std::uint32_t stream);

}  // namespace http2

class Http2Peer {
 public:
  struct Answer {
    std::string frames = {};
    bool closes = false;
  };
  /// Of the request with this number, counted from 0, over all connections.
  using Script = std::function<Answer(int number, std::uint32_t stream)>;

  explicit Http2Peer(Script script)
      : script_(std::move(script)),
        server_([this](int client, int, const std::atomic<bool>& stop) { serve(client, stop); }) {}

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  int requests() const noexcept { return requests_; }
  /// Of the requests that have come whole, in the order that they came in.
  std::vector<std::string> bodies() const {
    std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  void serve(int client, const std::atomic<bool>& stop);

  Script script_;
  std::atomic<int> requests_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> bodies_;
  LoopbackServer server_;
};

}  // namespace lens::tests
