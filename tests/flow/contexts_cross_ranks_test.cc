// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <thread>
#include <unordered_set>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

// Ranks that are threads of this process.
struct World {
  explicit World(int size) : meet(size) {}
  std::barrier<> meet;
  std::array<std::byte, 256> sent{};
};

struct ThreadCommunicator {
  World& world;
  int rank;
  int collectives = 0;

  void broadcast(std::span<std::byte> bytes, int source) {
    ++collectives;
    if (rank == source) std::memcpy(world.sent.data(), bytes.data(), bytes.size());
    world.meet.arrive_and_wait();
    std::memcpy(bytes.data(), world.sent.data(), bytes.size());
    world.meet.arrive_and_wait();
  }
};

constexpr int ranks = 4, source = 3;

RecordedTrace record_ranks(const std::function<void(int rank, ThreadCommunicator&)>& body,
                           const std::function<void(Config&)>& change = {}) {
  const auto run = [&] {
    World world(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ThreadCommunicator communicator{world, rank};
        body(rank, communicator);
        EXPECT_EQ(communicator.collectives, 1);
      });
    for (std::thread& thread : threads) thread.join();
  };
  return record(run, change);
}

// Contract: 5.source
TEST(ContextSource, IsTheFirstRankThatExports) {
  for (const int exporting : {0, 2, ranks}) {
    World world(ranks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ThreadCommunicator communicator{world, rank};
        EXPECT_EQ(find_exporting_rank(communicator, ranks, rank >= exporting), exporting == ranks ? -1 : exporting);
      });
  }
}

/// Of a source that has a span or none, with what configures the process that it is in.
void broadcast_from_source(bool has_span, const std::function<void(Config&)>& configure) {
  record(
      [&] {
        World world(2);
        const auto broadcast = [&world](int rank) {
          ThreadCommunicator communicator{world, rank};
          for (int i = 0; i < 3; ++i) broadcast_trace_context(communicator, 0);
        };
        std::jthread other([&] {
          SpanHandle step = has_span ? start_span(SpanGroup::step, "step") : SpanHandle();
          auto scope = step.activate();
          broadcast(0);
        });
        broadcast(1);
      },
      configure);
}

/// What this process is told of the source.
std::vector<std::string> told_of_source(bool has_span) {
  std::vector<std::string> told;
  broadcast_from_source(
      has_span, [&](Config& config) { config.on_error = [&told](std::string_view line) { told.emplace_back(line); }; });
  return told;
}

// Contract: 5.source
TEST(ContextSource, WithoutAContextIsToldOnce) {
  EXPECT_TRUE(told_of_source(true).empty());
  const std::vector<std::string> told = told_of_source(false);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("rank 0, the source of broadcast_trace_context, had no context to give"), std::string::npos)
      << told[0];
  EXPECT_NE(told[0].find("find_exporting_rank"), std::string::npos) << told[0];
  testing::internal::CaptureStderr();
  broadcast_from_source(false, [](Config& config) { config.on_error = {}; });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lens: " + told[0] + "\n");
}

// Contract: 5.linked
TEST(LinkedSpans, KeepTheirOwnTraceAndNameTheSender) {
  const RecordedTrace trace = record_ranks([](int rank, ThreadCommunicator& communicator) {
    auto step = managed_span(SpanGroup::step, "step " + std::to_string(rank));
    const SpanContext context = broadcast_trace_context(communicator, source);
    auto linked =
        create_linked_span(SpanGroup::step, "linked " + std::to_string(rank), context, attribute("rank", rank));
  });
  const RecordedSpan& sender = trace.only("step 3");
  for (int rank = 0; rank < ranks; ++rank) {
    const RecordedSpan& step = trace.only("step " + std::to_string(rank));
    const RecordedSpan& linked = trace.only("linked " + std::to_string(rank));
    EXPECT_EQ(linked.trace_id, step.trace_id);
    EXPECT_EQ(linked.parent_id, step.span_id);
    EXPECT_EQ(linked.at<std::int64_t>("rank"), rank);
    ASSERT_EQ(linked.links.size(), 1u);
    EXPECT_EQ(linked.links[0].span_id, sender.span_id);
    EXPECT_EQ(linked.links[0].trace_id, sender.trace_id);
    EXPECT_EQ(linked.links[0].flags, 3u);
  }
}

// Contract: 5.adopted
TEST(AdoptedSpans, JoinTheSendersTrace) {
  const RecordedTrace trace = record_ranks([](int rank, ThreadCommunicator& communicator) {
    auto step = managed_span(SpanGroup::step, "step " + std::to_string(rank));
    const SpanContext context = broadcast_trace_context(communicator, source);
    auto adopted = adopt_span(SpanGroup::step, "adopted " + std::to_string(rank), context);
    auto child = managed_span(SpanGroup::step, "child " + std::to_string(rank));
  });
  const RecordedSpan& sender = trace.only("step 3");
  for (int rank = 0; rank < ranks; ++rank) {
    const RecordedSpan& adopted = trace.only("adopted " + std::to_string(rank));
    EXPECT_EQ(adopted.trace_id, sender.trace_id);
    EXPECT_EQ(adopted.parent_id, sender.span_id);
    EXPECT_TRUE(adopted.links.empty());
    EXPECT_EQ(trace.only("child " + std::to_string(rank)).trace_id, sender.trace_id);
  }
}

// Contract: 5.broadcast
TEST(Broadcast, OfARankWithoutASpanGivesNoContext) {
  const RecordedTrace trace = record_ranks(
      [](int rank, ThreadCommunicator& communicator) {
        const SpanContext context = broadcast_trace_context(communicator, source);
        EXPECT_FALSE(context);
        auto step = managed_span(SpanGroup::step, "step " + std::to_string(rank));
        auto linked = create_linked_span(SpanGroup::step, "linked", context);
        auto adopted = adopt_span(SpanGroup::step, "adopted", context);
        EXPECT_EQ(adopted.context().trace_id, step.context().trace_id);
      },
      [](Config& config) { config.on_error = {}; });  // the source is told of
  for (const RecordedSpan& span : trace.spans) EXPECT_TRUE(span.links.empty());
}

// Contract: 5.carrier
TEST(Carrier, IsOneForTheProcess) {
  record([] {
    auto step = managed_span(SpanGroup::step, "step");
    const SpanContext context = step.context();
    set_pp_trace_carrier(context);
    std::thread([&] { EXPECT_EQ(get_pp_trace_carrier(), context); }).join();
    set_pp_trace_carrier({});
    EXPECT_FALSE(get_pp_trace_carrier());
  });
}

// Contract: 5.bytes
TEST(ContextAsBytes, ComesBackOrIsNone) {
  record([] {
    auto step = managed_span(SpanGroup::step, "step");
    auto bytes = step.context().to_bytes();
    EXPECT_EQ(SpanContext::from_bytes(bytes), step.context());
    EXPECT_FALSE(SpanContext::from_bytes(std::span(bytes).first(31)));
    EXPECT_FALSE(SpanContext::from_bytes({}));
    bytes[31] = std::byte{1};
    EXPECT_FALSE(SpanContext::from_bytes(bytes));
    bytes[31] = std::byte{0};
    bytes[0] = std::byte{9};
    EXPECT_FALSE(SpanContext::from_bytes(bytes));
  });
  EXPECT_FALSE(SpanContext::from_bytes(SpanContext{}.to_bytes()));
}

// Contract: 3.ids, L3
TEST(Ids, AreValidAndNeverTheSame) {
  constexpr int count = 1'000'000;
  std::unordered_set<std::string> spans, traces;
  spans.reserve(count);
  traces.reserve(count);
  TemporaryDirectory directory;
  Config config = recording_config(directory.path());
  config.exporter = "none";
  config.on_error = {};
  auto telemetry = setup_telemetry(config, {});
  for (int recorded = 0; recorded < count;) {
    std::srand(7);  // what an application does to its own generators has no effect
    auto span = managed_span(SpanGroup::job, "root");
    const SpanContext context = span.context();
    if (!context) {  // no room: the loop is faster than the pipeline
      std::this_thread::yield();
      continue;
    }
    ++recorded;
    EXPECT_EQ(context.flags, SpanContext::sampled | SpanContext::random_trace_id);
    spans.insert(std::string(reinterpret_cast<const char*>(context.span_id.bytes.data()), 8));
    traces.insert(std::string(reinterpret_cast<const char*>(context.trace_id.bytes.data()), 16));
  }
  EXPECT_EQ(spans.size(), std::size_t{count});
  EXPECT_EQ(traces.size(), std::size_t{count});
}

}  // namespace
}  // namespace lens::tests
