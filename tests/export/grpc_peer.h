// SPDX-License-Identifier: Apache-2.0
// A real gRPC server on loopback that answers every call as a test tells it. It hides gRPC's headers.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lens::tests {

struct GrpcRequest {
  std::string method;
  std::multimap<std::string, std::string> metadata;
  std::string message;  // decompressed
  /// How long the caller waits for the answer at most, from the time that the request came.
  std::chrono::duration<double> timeout{};
};

struct GrpcAnswer {
  int status = 0;
  std::string error = {};
  std::string details = {};  // a google.rpc.Status
  std::string message = {};
  bool compressed = false;
};

inline GrpcAnswer accept_all_calls(int, const GrpcRequest&) { return {}; }

struct GrpcPeerOptions {
  bool tls = false;
  std::string certificate = {}, key = {}, client_authority = {};  // PEM; with an authority, clients must show theirs
  int most_message_bytes = 4 << 20;
  std::string address = "127.0.0.1:0";
};

class GrpcPeer {
 public:
  using Script = std::function<GrpcAnswer(int number, const GrpcRequest& request)>;

  explicit GrpcPeer(Script script, const GrpcPeerOptions& options = {});
  ~GrpcPeer();

  int port() const noexcept;
  std::vector<GrpcRequest> requests() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace lens::tests
