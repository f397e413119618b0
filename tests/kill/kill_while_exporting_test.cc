// SPDX-License-Identifier: Apache-2.0
// A rank that is killed while requests to a collector are under way: what had ended is with the collector, in the spool
// or recovered.
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "src/otlp/framing.h"
#include "tests/export/http_peer.h"
#include "tests/kill/workload.h"

namespace lens::tests {
namespace {

/// Answers some requests, and keeps silent to the others.
class Collector {
 public:
  explicit Collector(std::size_t silence)
      : silence_(silence),
        peer_([this](int, const HttpRequest& request) { return answers(request) ? answer(200) : hang(); }) {}

  const HttpPeer& peer() const { return peer_; }
  void write_answered(const std::filesystem::path& traces) const {
    std::ofstream file(traces / "traces-answered.otlp.zst", std::ios::binary);
    otlp::Framer framer;
    for (const HttpRequest& request : peer_.requests())
      if (answers(request)) file << framer.frame(request.body);
  }

 private:
  bool answers(const HttpRequest& request) const {
    return std::stoul(request.headers.at("content-length")) % silence_ != 0;
  }

  std::size_t silence_;
  HttpPeer peer_;
};

Config sending_config(const RunPlace& place, const HttpPeer& peer, const std::filesystem::path& spool) {
  setenv("no_proxy", "*", 1);
  Config config = place.config();
  config.exporter = "otlp";
  config.spool_dir = spool;
  config.standard.otlp_traces.endpoint = peer.url();
  config.standard.otlp_traces.protocol = OtlpProtocol::http_protobuf;
  config.on_error = {};
  return config;
}

void add_spooled(const std::filesystem::path& spool, const std::filesystem::path& traces) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(spool, none))
    if (!entry.path().filename().string().starts_with('.'))
      std::filesystem::rename(entry.path(), traces / ("traces-spooled" + entry.path().filename().string()));
}

/// A collector may have what it did not say that it has.
void take_each_once(RecordedTrace& trace) {
  std::set<std::string> ids;
  std::erase_if(trace.spans, [&](const RecordedSpan& span) { return !ids.insert(span.span_id).second; });
}

TEST(KillWhileExporting, AtARandomMomentLosesNothingThatHadEnded) {
  std::mt19937 random{std::random_device{}()};
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const RunPlace place;
    const TemporaryDirectory spool;
    const Collector collector(std::size_t(2 + round % 8));
    const Shared<Ledger> ledger;
    const bool pauses = round % 3 != 0;
    Child child([&] { work(*ledger, sending_config(place, collector.peer(), spool.path()), pauses); });
    while (ledger->job_after_ns == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, 80'000)(random)));
    child.kill();
    EXPECT_EQ(place.recover().size(), 1u);
    collector.write_answered(place.traces());
    add_spooled(spool.path(), place.traces());
    RecordedTrace trace = place.trace();
    for (const std::string& problem : trace.problems) ADD_FAILURE() << problem;
    take_each_once(trace);
    expect_all_recorded(*ledger, trace);
    if (testing::Test::HasFailure()) break;
  }
}

// Only the file of rings has it: there is no spool.
TEST(KillWhileExporting, WhatNobodyAnsweredIsRecovered) {
  const RunPlace place;
  const HttpPeer silent([](int, const HttpRequest&) { return hang(); });
  const Shared<std::atomic<int>> flushed;
  Child child([&] {
    Config config = sending_config(place, silent, {});
    config.spool_size_bytes = 0;
    config.standard.span_batch.schedule_delay = std::chrono::hours(1);
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    constexpr int batches = 3;
    for (int batch = 0; batch < batches; ++batch) {
      for (int i = 0; i < 100; ++i) auto span = managed_span(SpanGroup::step, "step");
      telemetry.force_flush(std::chrono::milliseconds(20));
      ++*flushed;
    }
    raise(SIGKILL);
  });
  child.wait();
  EXPECT_EQ(*flushed, 3);
  EXPECT_GT(silent.requests().size(), 0u);
  EXPECT_EQ(place.recover().size(), 1u);
  EXPECT_EQ(place.trace().count("step"), 300u);
}

}  // namespace
}  // namespace lens::tests
