// SPDX-License-Identifier: Apache-2.0
// Accepts connections on loopback and serves each on a thread of its own, until it is destroyed.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/export/loopback.h"

namespace lens::tests {

class LoopbackServer {
 public:
  /// Serves the connection with this number, counted from 0, and returns soon once `stop` is set. Who made the server
  /// holds what this needs for as long as that.
  using Serve = std::function<void(int client, int number, const std::atomic<bool>& stop)>;

  /// Whoever connects is refused until `open`, where it refuses.
  explicit LoopbackServer(Serve serve, bool refuses = false)
      : serve_(std::move(serve)), listener_(refuses ? bind_to_loopback(port_) : listen_on_loopback(port_)) {
    if (!refuses) open();
  }
  ~LoopbackServer() {
    stop_ = true;
    shutdown(listener_, SHUT_RDWR);
    if (acceptor_.joinable()) acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
    close(listener_);
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  void open() {
    listen(listener_, 16);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  int port() const noexcept { return port_; }
  int connections() const noexcept { return connections_; }

 private:
  void accept_all() {
    while (!stop_) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      threads_.emplace_back([this, client, number = connections_++] {
        serve_(client, number, stop_);
        close(client);
      });
    }
  }

  Serve serve_;
  int port_ = 0;
  int listener_;
  std::atomic<int> connections_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace lens::tests
