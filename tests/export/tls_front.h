// SPDX-License-Identifier: Apache-2.0
// TLS in front of a server on loopback that has none: what comes in is passed on in the clear.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "tests/export/loopback_server.h"

namespace lens::tests {

struct TlsFrontOptions {
  std::string certificate, key;  // files in PEM
  std::string client_authority;  // clients must show a certificate of it; empty: they need not
};

class TlsFront {
 public:
  TlsFront(int target_port, const TlsFrontOptions& options);
  ~TlsFront();

  std::string url() const { return "https://127.0.0.1:" + std::to_string(server_.port()); }

 private:
  struct Context;

  void serve(int client, const std::atomic<bool>& stop);

  int target_port_;
  std::unique_ptr<Context> context_;
  LoopbackServer server_;
};

}  // namespace lens::tests
