// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "tests/flow/recorded_trace.h"
#include "tests/support/memory_use.h"

namespace lens::tests {
namespace {

// More than any ring holds before the pipeline comes round: each span carries 60 KB.
constexpr std::size_t large = 60'000;

// Contract: C8, D44
TEST(FullRing, DropsTheNewestWholeAndCounts) {
  constexpr std::uint64_t count = 2000;
  std::uint64_t kept = 0;
  const RecordedTrace trace = record(
      [&] {
        const std::string text(large, 'x');
        auto job = managed_span(SpanGroup::job, "job");
        for (std::uint64_t i = 0; i < count; ++i) {
          auto span = managed_span(SpanGroup::step, "large", attribute("text_", text), attribute("i", i));
          kept += span ? 1 : 0;
          auto inner = managed_span(SpanGroup::optimizer, "inner");
        }
      },
      [](Config& config) { config.on_error = {}; });  // it says that spans were lost
  EXPECT_EQ(trace.count("large"), kept);
  EXPECT_EQ(trace.counters->spans_recorded + trace.counters->spans_dropped, 1 + 2 * count);
  EXPECT_EQ(trace.spans.size(), trace.counters->spans_exported);
  EXPECT_EQ(trace.counters->spans_truncated, 0u);  // never an end without its begin, nor the reverse
  EXPECT_FALSE(trace.only("job").truncated());
  for (const RecordedSpan& span : trace.spans)
    EXPECT_EQ(span.name == "large" ? span.at<std::string>("text_").size() : large, large);
}

// Contract: C8
TEST(FullRing, IsSaidWhenItBeginsAndCountedAtShutdown) {
  std::vector<std::string> said;
  const RecordedTrace trace = record(
      [&] {
        const std::string text(large, 'x');
        for (int i = 0; i < 2000; ++i) auto span = managed_span(SpanGroup::step, "large", attribute("text_", text));
      },
      [&](Config& config) { config.on_error = [&said](std::string_view line) { said.emplace_back(line); }; });
  ASSERT_GT(trace.counters->spans_dropped, 0u);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("its newest spans are dropped"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find(std::to_string(trace.counters->spans_dropped) + " of 2000 spans"), std::string::npos)
      << said[1];
}

TEST(FullRing, TakesASpanThatOutgrowsItWithoutWhatItCarries) {
  const std::vector<std::string> texts(100, std::string(large, 'x'));
  const RecordedTrace trace = record([&] {
    auto job = managed_span(SpanGroup::job, "job");
    auto scope = managed_span(SpanGroup::step, "scope", attribute("texts", texts), attribute("n", 1));
    EXPECT_NE(current_context(), job.context());
    scope.set(attribute("more", 1));
    SpanHandle handle = start_span(SpanGroup::step, "handle", {.kind = SpanKind::server, .links = {job.context()}},
                                   attribute("texts", texts));
    auto inner = managed_span(SpanGroup::step, "inner", {.kind = SpanKind::client}, attribute("texts", texts));
  });
  EXPECT_EQ(trace.names(), "handle inner job scope");
  EXPECT_EQ(trace.only("scope").dropped_attributes, 2u);
  EXPECT_EQ(trace.only("scope").at<std::int64_t>("more"), 1);
  EXPECT_EQ(trace.only("scope").parent_id, trace.only("job").span_id);
  EXPECT_EQ(trace.only("handle").dropped_attributes, 1u);
  EXPECT_EQ(trace.only("handle").links.size(), 1u);
  EXPECT_EQ(trace.only("handle").kind, 2);
  EXPECT_EQ(trace.only("inner").parent_id, trace.only("scope").span_id);
  EXPECT_EQ(trace.counters->spans_dropped, 0u);
  EXPECT_EQ(trace.counters->spans_truncated, 0u);
}

// Contract: 4.limits
TEST(FullRing, TakesASpanOfMoreLinksThanAnyRingHolds) {
  constexpr std::size_t count = 40'000, limit = 128;
  const RecordedTrace trace = record([] {
    auto job = managed_span(SpanGroup::job, "job");
    SpanOptions options;
    options.links.assign(count, job.context());
    options.links.front() = {};  // of nothing: no link
    SpanHandle handle = start_span(SpanGroup::step, "handle", options, attribute("n", 1));
    handle.add_link(job.context());
    auto scope = managed_span(SpanGroup::step, "scope", options);
  });
  ASSERT_EQ(trace.names(), "handle job scope");
  EXPECT_EQ(trace.only("handle").links.size(), limit);
  EXPECT_EQ(trace.only("handle").dropped_links, count - 1 + 1 - limit);
  EXPECT_EQ(trace.only("handle").at<std::int64_t>("n"), 1);
  EXPECT_EQ(trace.only("scope").links.size(), limit);
  EXPECT_EQ(trace.only("scope").dropped_links, count - 1 - limit);
  EXPECT_EQ(trace.counters->spans_dropped, 0u);
}

// Contract: 4.limits
TEST(FullRing, TakesAsManyLinksAsTheLimitSaysWhileTheyFit) {
  const auto links_with = [](std::size_t limit) {
    return record(
        [] {
          auto job = managed_span(SpanGroup::job, "job");
          SpanOptions options;
          options.links.assign(40'000, job.context());
          auto scope = managed_span(SpanGroup::step, "scope", options);
        },
        [limit](Config& config) { config.standard.span_limits.links = limit; });
  };
  EXPECT_EQ(links_with(1000).only("scope").links.size(), 1000u);
  EXPECT_EQ(links_with(1000).only("scope").dropped_links, 39'000u);
  EXPECT_EQ(links_with(50'000).only("scope").links.size(), 128u);  // more than a ring holds
  EXPECT_EQ(links_with(50'000).only("scope").dropped_links, 40'000u - 128u);
  EXPECT_EQ(links_with(0).only("scope").dropped_links, 40'000u);
}

// The span is whole, but for what there was no room for; and says so.
TEST(FullRing, TellsASpanOfWhatItLost) {
  constexpr int count = 400;
  const RecordedTrace trace = record(
      [] {
        const std::string text(large, 'x');
        auto step = managed_span(SpanGroup::step, "step");
        for (int i = 0; i < count; ++i) step.set(attribute("key " + std::to_string(i) + "_", text));
        auto other = managed_span(SpanGroup::job, "other");
        for (int i = 0; i < count; ++i) other.add_event("event", attribute("text_", text));
      },
      [](Config& config) {
        config.on_error = {};
        config.standard.span_limits.attributes = config.standard.span_limits.events = 1000;
      });
  const RecordedSpan& step = trace.only("step");
  EXPECT_LT(step.attributes.size(), std::size_t{count});
  EXPECT_EQ(step.dropped_attributes, 1u);  // at least one
  EXPECT_LT(trace.only("other").events.size(), std::size_t{count});
  EXPECT_EQ(trace.only("other").dropped_events, 1u);
  EXPECT_EQ(trace.counters->spans_dropped, 0u);
  EXPECT_EQ(trace.counters->spans_truncated, 0u);
}

// A part of every ring is kept for the ends of spans that are no scopes: the ring that ends them may be full.
TEST(FullRing, StillTakesTheEndsOfHandlesOfAnotherThread) {
  constexpr int rounds = 20;
  const RecordedTrace trace = record(
      [&] {
        for (int i = 0; i < rounds; ++i) {
          SpanHandle request = start_span(SpanGroup::job, "request");
          EXPECT_TRUE(request);
          std::thread([&] {
            bool full = false;
            for (int burst = 0; burst < 1'000'000 && !full; ++burst)
              full = !managed_span(SpanGroup::step, "burst");  // small ones leave no room for an end
            request.end();
          }).join();
        }
      },
      [](Config& config) { config.on_error = {}; });
  EXPECT_EQ(trace.count("request"), std::size_t{rounds});
  EXPECT_EQ(trace.counters->spans_truncated, 0u);
}

TEST(Recording, AtAModerateRateDropsNothing) {
  constexpr int steps = 200, spans_per_step = 100;
  const RecordedTrace trace = record([] {
    for (int i = 0; i < steps; ++i) {
      auto step = managed_span(SpanGroup::step, "step", attribute("iteration", i));
      for (int j = 1; j < spans_per_step; ++j)
        auto span =
            managed_span(MegatronSpanGroup::layer, "layer", attribute("layer", j), attribute("name_", "attention"));
      // The pace: a loop of nothing but spans would outrun the pipeline.
      EXPECT_TRUE(graceful_drain(std::chrono::seconds(60)));
    }
  });
  EXPECT_EQ(trace.spans.size(), std::size_t{steps} * spans_per_step);
  EXPECT_EQ(trace.counters->spans_dropped, 0u);
}

TEST(ShortThreads, ReuseTheRingsOfThoseThatAreGone) {
  constexpr int count = 3000;
  TemporaryDirectory directory;
  std::filesystem::path rings = directory.path() / "shm";
  Config config = recording_config(directory.path() / "traces");
  config.shm_dir = rings;
  const int status = run_in_child([&] {  // a process has one file of rings for its life; this one begins its own
    auto telemetry = setup_telemetry(config, {});
    for (int i = 0; i < count; ++i) {
      std::thread([] { auto span = managed_span(SpanGroup::step, "short"); }).join();
      if (i % 100 == 0) telemetry.force_flush(std::chrono::seconds(60));
    }
    const std::uint64_t bytes = allocated_bytes_in(rings);
    telemetry.shutdown();
    _exit(bytes > 0 && bytes <= 4u << 20 ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  const RecordedTrace trace = read_trace(directory.path() / "traces");
  EXPECT_EQ(trace.spans.size(), std::size_t{count});
  std::set<std::string> ids;
  for (const RecordedSpan& span : trace.spans) {
    EXPECT_EQ(span.parent_id, "");
    ids.insert(span.span_id);
  }
  EXPECT_EQ(ids.size(), std::size_t{count});
}

TEST(FileSizeLimit, BelowTheRingsMeansPrivateMemoryAndNoSignal) {
  TemporaryDirectory directory;
  const int status = run_in_child([&] {
    const rlimit limit{40'000, 40'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Config config = recording_config(directory.path() / "traces");
    config.shm_dir = directory.path() / "rings";
    config.on_error = [](std::string_view line) {
      if (line.find("private memory") == line.npos) _exit(1);
    };
    auto telemetry = setup_telemetry(config, {});
    auto span = managed_span(SpanGroup::step, "step");
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_trace(directory.path() / "traces").count("step"), 1u);
}

// Contract: C25
TEST(FullDisk, LetsTrainingGoOnAndCounts) {
  TemporaryDirectory directory;
  const int status = run_in_child([&] {
    Config config = recording_config(directory.path());
    int failures = 0;
    config.on_error = [&failures](std::string_view) { ++failures; };
    auto telemetry = setup_telemetry(config, {});
    { auto first = managed_span(SpanGroup::job, "the first makes the ring"); }
    constexpr rlim_t file_bytes = 40'000;
    const rlimit limit{file_bytes, file_bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::uint64_t random = 1;
    for (int i = 0; i < 2000; ++i) {
      std::string noise;  // that does not compress
      for (int j = 0; j < 64; ++j)
        noise += static_cast<char>(33 + ((random = random * 6364136223846793005u + 1) >> 57) % 90);
      { auto span = managed_span(SpanGroup::step, "step", attribute("noise", noise)); }
      if (i % 100 == 99) telemetry.force_flush(std::chrono::seconds(60));
    }
    const TelemetryCounters counters = telemetry.counters();
    telemetry.shutdown();
    const bool counted = counters.spans_dropped > 0 && counters.spans_exported > 0 &&
                         counters.spans_dropped + counters.spans_exported == 2001;
    _exit(counted && failures > 0 ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  const RecordedTrace trace = read_trace(directory.path());
  EXPECT_TRUE(trace.problems.empty());
  EXPECT_GT(trace.spans.size(), 0u);
  EXPECT_LT(trace.spans.size(), 2000u);
}

}  // namespace
}  // namespace lens::tests
