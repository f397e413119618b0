// SPDX-License-Identifier: Apache-2.0
// An HTTP proxy on loopback: it forwards requests that name a whole URL and makes tunnels (CONNECT), to ports of this
// host only. Or it refuses all.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tests/export/loopback_server.h"

namespace lens::tests {

class ForwardProxy {
 public:
  /// Answers everybody with this status; 0: none.
  explicit ForwardProxy(int refuses_with = 0) : refuses_with_(refuses_with) {}

  int port() const noexcept { return server_.port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  /// The first line of each connection.
  std::vector<std::string> asked() const;

 private:
  void serve(int client, const std::atomic<bool>& stop);

  int refuses_with_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  LoopbackServer server_{[this](int client, int, const std::atomic<bool>& stop) { serve(client, stop); }};
};

}  // namespace lens::tests
