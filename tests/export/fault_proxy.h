// SPDX-License-Identifier: Apache-2.0
// Stands between an exporter and a collector on loopback and breaks the first connections, each in a way of its own;
// the others it passes on.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace lens::tests {

struct Fault {
  enum class Kind {
    none,
    close,        // accepted and ended at once
    reset,        // broken off when `after_bytes` of the request have come
    half_open,    // takes the request, never says anything
    garbage,      // answers with bytes of no protocol
    lost_answer,  // the collector gets the request; the connection breaks before its answer comes through
    drip,         // passes the answer on byte by byte, each after a while
  };
  Kind kind = Kind::none;
  std::size_t after_bytes = 0;
};

class FaultProxy {
 public:
  FaultProxy(int target_port, std::vector<Fault> faults);
  ~FaultProxy();

  int port() const noexcept { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const noexcept { return connections_; }

 private:
  void accept_all();
  void serve(int client, const Fault& fault);
  void pass_on(int client, int target, const Fault& fault);

  int target_port_;
  std::vector<Fault> faults_;
  int port_ = 0;
  int listener_;
  std::atomic<int> connections_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace lens::tests
