// SPDX-License-Identifier: Apache-2.0
// Receivers of OTLP by other hands, each a process of its own with what it took in.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lens/config.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/interop/peer_process.h"
#include "tests/support/recorded_span.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {

class Receiver {
 public:
  virtual ~Receiver() = default;

  /// Where it takes this protocol.
  std::string endpoint(OtlpProtocol protocol) const;

  /// The spans of these traces, once there are as many, or after a while fewer.
  virtual std::vector<RecordedRequest> received(const std::set<std::string>& trace_ids, std::size_t spans) = 0;

 protected:
  TemporaryDirectory directory_;
  const int grpc_port_ = free_port(), http_port_ = free_port();
};

/// As the collector's configuration has them; empty: its defaults.
struct CollectorSettings {
  std::string tls = {};        // of both ports
  std::string keepalive = {};  // of gRPC's
};

/// The OpenTelemetry Collector, in Go: its file exporter writes what it took.
class Collector : public Receiver {
 public:
  explicit Collector(const std::string& program, const CollectorSettings& settings = {});
  std::vector<RecordedRequest> received(const std::set<std::string>& trace_ids, std::size_t spans) override;

  /// What it took, written by its file exporter in each form that it has: once it has stopped.
  static const std::vector<std::string> forms;
  std::filesystem::path file(const std::string& form) const { return directory_.path() / ("traces." + form); }
  std::filesystem::path metrics_file() const { return directory_.path() / "metrics.jsonl"; }
  std::filesystem::path logs_file() const { return directory_.path() / "logs.jsonl"; }
  void stop() { process_.stop(); }

 private:
  PeerProcess process_;
};

/// Jaeger, in Go: its storage answers queries.
class Jaeger : public Receiver {
 public:
  explicit Jaeger(const std::string& program);
  std::vector<RecordedRequest> received(const std::set<std::string>& trace_ids, std::size_t spans) override;

  /// What its API answers, once `is_complete`.
  std::string ask(const std::string& path, const std::function<bool(const std::string&)>& is_complete) const;

 private:
  const int query_port_ = free_port();
  PeerProcess process_;
};

/// Rotel, in Rust: it passes on what it takes.
class Rotel : public Receiver {
 public:
  explicit Rotel(const std::string& program);
  std::vector<RecordedRequest> received(const std::set<std::string>& trace_ids, std::size_t spans) override;

 private:
  HttpPeer target_;
  PeerProcess process_;
};

/// By the name of its program.
std::unique_ptr<Receiver> start_receiver(const std::string& name, const std::string& program);

/// The messages of a file in any of the forms of docs/trace_directory.md. A file that is not whole fails the test.
std::vector<RecordedRequest> requests_in(const std::filesystem::path& file);

std::size_t span_count(const std::vector<RecordedRequest>& requests);

/// As `names_of` has them, of the service svc.
std::vector<std::string> span_names(const std::vector<RecordedRequest>& requests);

}  // namespace lens::tests
