// SPDX-License-Identifier: Apache-2.0
// Stands between an exporter and a collector on loopback and breaks the first connections, each in a way of its own;
// the others it passes on.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "tests/export/loopback_server.h"

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
  FaultProxy(int target_port, std::vector<Fault> faults, bool refuses = false);

  /// Connections are refused until then, where it refuses.
  void open() { server_.open(); }
  int port() const noexcept { return server_.port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  int connections() const noexcept { return server_.connections(); }

 private:
  void serve(int client, const Fault& fault, const std::atomic<bool>& stop) const;

  int target_port_;
  std::vector<Fault> faults_;
  LoopbackServer server_;
};

}  // namespace lens::tests
