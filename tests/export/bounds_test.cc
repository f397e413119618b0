// SPDX-License-Identifier: Apache-2.0
// What sending costs a process in memory and at its end, whatever the collector does: with the default protocol and
// with HTTP, by a process of its own that records more than anyone takes; and what all rings together cost.
#include <barrier>

#include "src/export/compression.h"
#include "src/record/ring_file.h"
#include "tests/export/certificates.h"
#include "tests/export/fault_proxy.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/export/tls_front.h"
#include "tests/kill/child.h"
#include "tests/support/memory_use.h"
#include "tests/support/sanitized.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
using namespace std::chrono_literals;

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
    if (fault == "Bomb") port_ = is_grpc ? grpc_bomb_.port() : http_bomb_.port();
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
  // Little on the way, and once unpacked just what an answer may have.
  std::string unpacked_ = std::string((4 << 20) - 1, '\0');
  GrpcPeer grpc_bomb_{[this](int, const GrpcRequest&) { return GrpcAnswer{.message = unpacked_, .compressed = true}; }};
  HttpPeer http_bomb_{[bomb = exporting::gzipped(unpacked_).value()](int, const HttpRequest&) {
    return answer(200, bomb, "Content-Encoding: gzip\r\n");
  }};
  BlackHole black_hole_;
  std::unique_ptr<FaultProxy> proxy_;
  int port_ = 0;
};

Config sending_to(const RunPlace& place, const std::string& url) {
  Config config = place.config();
  config.exporter = "otlp";
  config.spool_dir = place.traces();
  config.standard.otlp_traces.endpoint = config.standard.otlp_metrics.endpoint = url;
  config.standard.metric_export_interval = 100ms;
  config.standard.span_batch = Config{}.standard.span_batch;
  config.on_error = {};
  return config;
}

struct Way {
  const char* name;
  OtlpProtocol protocol;
  OtlpCompression compression = OtlpCompression::none;
  // One thread records. Those that may be beside it are worth 10 MiB more.
  std::uint64_t most_private_bytes = 5 << 20;
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
  cost.shared_bytes = allocated_bytes_in(config.shm_dir);
  cost.recorded = telemetry.counters().spans_recorded;
  const auto begin = std::chrono::steady_clock::now();
  telemetry.shutdown(deadline);
  cost.shutdown = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  cost.private_bytes = std::max(cost.private_bytes, growth());
  return cost;
}

class Bounds : public testing::TestWithParam<std::tuple<Way, const char*>> {};

// Contract: 7.bounds
TEST_P(Bounds, HoldWhateverTheCollectorDoes) {
  if (is_sanitized)
    GTEST_SKIP() << "a sanitizer's own memory is counted, and its locks do not outlive a fork of threads";
  const auto& [way, fault] = GetParam();
  const Collector collector(fault, way.protocol);
  const RunPlace place;
  const Shared<Cost> cost;
  Child child([&, way = way] {
    setenv("no_proxy", "*", 1);
    Config config = sending_to(place, collector.url());
    config.standard.otlp_traces.protocol = config.standard.otlp_metrics.protocol = way.protocol;
    config.standard.otlp_traces.compression = way.compression;
    *cost = cost_of_recording(config);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GT(cost->recorded, 0u);
  constexpr std::uint64_t most_shared_bytes = 4 << 20;
  EXPECT_LE(cost->private_bytes, way.most_private_bytes);
  EXPECT_LE(cost->shared_bytes, most_shared_bytes);
  EXPECT_LT(cost->shutdown, deadline + 2s) << "a request has ten";
  RecordProperty("private_bytes", std::to_string(cost->private_bytes));
  RecordProperty("shared_bytes", std::to_string(cost->shared_bytes));
  RecordProperty("shutdown_ms", std::to_string(cost->shutdown.count()));
}

// As many as there are rings, each with a stack and a heap of its own before telemetry comes.
class RecordingThreads {
 public:
  /// So many spans are left open, by a few of them.
  explicit RecordingThreads(std::size_t open) : open_(open) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
    step();
  }
  ~RecordingThreads() {
    stopped_ = true;
    step();
  }
  /// Lets every thread record a few spans.
  void step() { rounds_.arrive_and_wait(), rounds_.arrive_and_wait(); }

 private:
  static constexpr int count = record::RingFile::max_rings;

  static constexpr int openers = 8;

  void leave_open(int thread) {
    constexpr std::size_t at_once = 100;  // which the smallest of the openers' rings holds
    for (std::size_t i = std::size_t(thread); i < open_.size(); i += openers) {
      open_[i] = start_span(SpanGroup::step, "request", {}, "n"_a = i);
      if (i / openers % at_once == 0) std::this_thread::sleep_for(3ms);
    }
  }

  void work(int thread) {
    const auto on_the_heap = std::make_unique<std::string>(1000, 'x');
    const int spans = thread < 2 && !open_.empty() ? 500 : 10;
    for (int round = 0;; ++round) {
      rounds_.arrive_and_wait();
      if (stopped_) return rounds_.arrive_and_drop();
      if (round == 1 && thread < openers) leave_open(thread);
      log(Severity::info, "round", "number"_a = round);
      auto job = managed_span(SpanGroup::job, "job", "round"_a = round);
      for (int i = 0; i < spans; ++i) auto span = managed_span(SpanGroup::step, "step", "i"_a = i);
      rounds_.arrive_and_wait();
    }
  }

  std::barrier<> rounds_{count + 1};
  std::atomic<bool> stopped_ = false;
  std::vector<SpanHandle> open_;
  std::vector<std::jthread> threads_;
};

/// What a process takes whose threads have all rings, at most; the last of them leave so many spans open.
struct AllRingsCost {
  std::uint64_t shared, most_private, recorded, dropped;
};

AllRingsCost cost_of_all_rings(const RunPlace& place, const Config& config, std::size_t open) {
  const Shared<AllRingsCost> cost;
  Child child([&] {
    setenv("no_proxy", "*", 1);
    RecordingThreads threads(open);
    const std::uint64_t before = private_bytes();
    auto telemetry = setup_telemetry(config, {});
    const auto measure = [&] {
      const std::uint64_t now = private_bytes();
      cost->most_private = std::max(cost->most_private, std::max(now, before) - before);
    };
    const auto end = std::chrono::steady_clock::now() + 2s;
    constexpr int least_steps = 400;
    for (int step = 0; step < least_steps || std::chrono::steady_clock::now() < end; ++step) {
      std::this_thread::sleep_for(1ms);
      threads.step();
      measure();
    }
    cost->shared = allocated_bytes_in(place.rings());
    telemetry.shutdown(deadline);
    cost->recorded = telemetry.counters().spans_recorded;
    cost->dropped = telemetry.counters().spans_dropped;
    measure();
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GT(cost->shared, 10u << 20);  // all rings are there
  const std::string protocol = config.standard.otlp_traces.protocol == OtlpProtocol::grpc ? "grpc" : "http";
  testing::Test::RecordProperty(protocol + "_private_bytes", std::to_string(cost->most_private));
  testing::Test::RecordProperty(protocol + "_shared_bytes", std::to_string(cost->shared));
  return *cost;
}

constexpr std::uint64_t most_bytes = 16 << 20;

TEST(Memory, OfAProcessWithAllRingsInUseIsBounded) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's own memory is counted";
  const RunPlace place;
  const AllRingsCost cost =
      cost_of_all_rings(place, sending_to(place, "http://127.0.0.1:" + std::to_string(free_port())), 0);
  EXPECT_GT(cost.recorded, 100'000u);
  EXPECT_LE(cost.shared + cost.most_private, most_bytes);
}

// By TLS, with log records, more open spans than there is memory for, and a collector that takes less than comes, so
// that the spool is written and sent at once.
TEST(Memory, OfAProcessAtItsWorstIsBounded) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's own memory is counted";
  const Certificates certificates;
  if (!certificates.made()) GTEST_SKIP() << "no openssl to make certificates with";
  const auto wait = [] { std::this_thread::sleep_for(50ms); };
  const GrpcPeer grpc(
      [&](int, const GrpcRequest&) {
        wait();
        return GrpcAnswer{};
      },
      {.tls = true, .certificate = certificates.text("server.pem"), .key = certificates.text("server.key")});
  const HttpPeer http([&](int, const HttpRequest&) {
    wait();
    return answer(200);
  });
  const TlsFront front(http.port(), {certificates.path("server.pem"), certificates.path("server.key"), ""});
  for (const OtlpProtocol protocol : {OtlpProtocol::grpc, OtlpProtocol::http_protobuf}) {
    const bool is_grpc = protocol == OtlpProtocol::grpc;
    SCOPED_TRACE(is_grpc ? "gRPC" : "HTTP");
    const RunPlace place;
    Config config = sending_to(place, is_grpc ? "https://127.0.0.1:" + std::to_string(grpc.port()) : front.url());
    config.logs_enabled = true;
    config.standard.otlp_logs.endpoint = config.standard.otlp_traces.endpoint;
    for (OtlpConfig* otlp : {&config.standard.otlp_traces, &config.standard.otlp_metrics, &config.standard.otlp_logs}) {
      otlp->protocol = protocol;
      otlp->certificate = certificates.path("ca.pem");
    }
    const AllRingsCost cost = cost_of_all_rings(place, config, 100'000);
    EXPECT_LE(cost.shared + cost.most_private, most_bytes) << cost.shared << " shared, " << cost.most_private;
    EXPECT_GT(cost.dropped, 10'000u);  // there was no memory for all that are open
  }
}

std::string name_of(const testing::TestParamInfo<Bounds::ParamType>& info) {
  return std::string(std::get<0>(info.param).name) + std::get<1>(info.param);
}

constexpr auto faults = {"Down", "BlackHoled", "Silent", "Slow", "Garbage", "HugeBody", "Bomb"};
INSTANTIATE_TEST_SUITE_P(All, Bounds,
                         testing::Combine(testing::Values(Way{"Grpc", OtlpProtocol::grpc},
                                                          Way{"Http", OtlpProtocol::http_protobuf}),
                                          testing::ValuesIn(faults)),
                         name_of);
// Bodies that are made of the batches, and held beside them; while one becomes JSON it stands there twice more.
constexpr std::uint64_t json_bytes = 7 << 20, gzipped_json_bytes = 9 << 20;
INSTANTIATE_TEST_SUITE_P(Made, Bounds,
                         testing::Combine(testing::Values(Way{"Json", OtlpProtocol::http_json, OtlpCompression::none,
                                                              json_bytes},
                                                          Way{"GzippedGrpc", OtlpProtocol::grpc, OtlpCompression::gzip},
                                                          Way{"GzippedJson", OtlpProtocol::http_json,
                                                              OtlpCompression::gzip, gzipped_json_bytes}),
                                          testing::Values("Silent", "Slow")),
                         name_of);

}  // namespace
}  // namespace lens::tests
