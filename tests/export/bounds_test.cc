// SPDX-License-Identifier: Apache-2.0
// What sending costs a process in memory and at its end, whatever the collector does: with the default protocol and
// with HTTP, by a process of its own that records more than anyone takes.
#include <fstream>

#include "tests/export/fault_proxy.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/kill/child.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

/// Memory of the process that no file is behind.
std::uint64_t private_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
  return 0;
}

/// A collector that does one thing wrong, to both protocols.
class Collector {
 public:
  explicit Collector(const std::string& fault, OtlpProtocol protocol) {
    const bool is_grpc = protocol == OtlpProtocol::grpc;
    const int target = is_grpc ? grpc_.port() : http_.port();
    const auto faulty = [&](Fault::Kind kind) {
      proxy_ = std::make_unique<FaultProxy>(target, std::vector<Fault>(10'000, Fault{kind}));
      port_ = proxy_->port();
    };
    if (fault == "Down") port_ = free_port();
    if (fault == "BlackHoled") port_ = black_hole_.port();
    if (fault == "Silent") faulty(Fault::Kind::half_open);
    if (fault == "Slow") faulty(Fault::Kind::drip);
    if (fault == "Garbage") faulty(Fault::Kind::garbage);
    if (fault == "HugeBody") port_ = huge_.port();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  GrpcPeer grpc_{[](int, const GrpcRequest&) { return GrpcAnswer{}; }};
  HttpPeer http_{[](int, const HttpRequest&) { return answer(200); }};
  HttpPeer huge_{[](int, const HttpRequest&) {
    return Answer{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n",
                  .repeated = 1 << 10,
                  .tail = std::string(1 << 20, 'x')};
  }};
  BlackHole black_hole_;
  std::unique_ptr<FaultProxy> proxy_;
  int port_ = 0;
};

struct Cost {
  std::uint64_t private_bytes, shared_bytes;
  std::chrono::milliseconds shutdown;
  std::uint64_t recorded;
};

constexpr std::chrono::milliseconds deadline = 1s;

/// Records for a while, a thousand spans each millisecond.
Cost cost_of_recording(const Config& config) {
  Cost cost{};
  const std::uint64_t before = private_bytes();
  const auto growth = [before] { return std::max(private_bytes(), before) - before; };
  auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
  constexpr int bursts = 400, spans = 1000;
  for (int burst = 0; burst < bursts; ++burst) {
    std::this_thread::sleep_for(1ms);
    for (int i = 0; i < spans; ++i)
      auto span = managed_span(SpanGroup::step, "step", "i"_a = i, "text"_a = "sixteen letters.");
    cost.private_bytes = std::max(cost.private_bytes, growth());
  }
  for (const auto& file : std::filesystem::directory_iterator(config.shm_dir)) cost.shared_bytes += file.file_size();
  cost.recorded = telemetry.counters().spans_recorded;
  const auto begin = std::chrono::steady_clock::now();
  telemetry.shutdown(deadline);
  cost.shutdown = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  cost.private_bytes = std::max(cost.private_bytes, growth());
  return cost;
}

class Bounds : public testing::TestWithParam<std::tuple<OtlpProtocol, const char*>> {};

TEST_P(Bounds, HoldWhateverTheCollectorDoes) {
  if (is_sanitized)
    GTEST_SKIP() << "a sanitizer's own memory is counted, and its locks do not outlive a fork of threads";
  const auto& [protocol, fault] = GetParam();
  const Collector collector(fault, protocol);
  const RunPlace place;
  const Shared<Cost> cost;
  Child child([&, protocol = protocol] {
    setenv("no_proxy", "*", 1);
    Config config = place.config();
    config.exporter = "otlp";
    config.spool_dir = place.traces();
    config.standard.otlp_traces.endpoint = collector.url();
    config.standard.otlp_traces.protocol = protocol;
    config.standard.otlp_metrics = config.standard.otlp_traces;
    config.standard.metric_export_interval = 100ms;
    config.standard.span_batch = Config{}.standard.span_batch;
    config.on_error = {};
    *cost = cost_of_recording(config);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GT(cost->recorded, 0u);
  // One thread records. Those that may be beside it are worth 10 MiB more.
  constexpr std::uint64_t most_private_bytes = 5 << 20, most_shared_bytes = 4 << 20;
  EXPECT_LE(cost->private_bytes, most_private_bytes);
  EXPECT_LE(cost->shared_bytes, most_shared_bytes);
  EXPECT_LT(cost->shutdown, deadline + 200ms);
  RecordProperty("private_bytes", std::to_string(cost->private_bytes));
  RecordProperty("shared_bytes", std::to_string(cost->shared_bytes));
  RecordProperty("shutdown_ms", std::to_string(cost->shutdown.count()));
}

std::string name_of(const testing::TestParamInfo<Bounds::ParamType>& info) {
  return (std::get<0>(info.param) == OtlpProtocol::grpc ? std::string("Grpc") : std::string("Http")) +
         std::get<1>(info.param);
}

constexpr auto faults = {"Down", "BlackHoled", "Silent", "Slow", "Garbage", "HugeBody"};
INSTANTIATE_TEST_SUITE_P(All, Bounds,
                         testing::Combine(testing::Values(OtlpProtocol::grpc, OtlpProtocol::http_protobuf),
                                          testing::ValuesIn(faults)),
                         name_of);

}  // namespace
}  // namespace lens::tests
