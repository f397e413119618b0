// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <latch>
#include <string>
#include <thread>

#include "tests/kill/child.h"
#include "tests/support/memory_use.h"

namespace lens::tests {
namespace {

std::size_t ring_mapping_count() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.ends_with(".ring");
  return count;
}

constexpr int at_once = 4;

/// Each four of them have a ring at the same moment.
void run_threads(int count) {
  for (int started = 0; started < count; started += at_once) {
    std::latch recording(at_once);
    std::vector<std::jthread> threads;
    for (int i = 0; i < at_once; ++i) {
      threads.emplace_back([&] {
        auto span = managed_span(SpanGroup::step, "short");
        recording.arrive_and_wait();
      });
    }
  }
}

TEST(ShortThreads, TenThousandLeaveNothingBehind) {
  const RunPlace place;
  Child child([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    run_threads(at_once);
    const std::size_t mappings = ring_mapping_count();
    const std::uint64_t bytes = allocated_bytes_in(place.rings());
    run_threads(10'000);
    if (ring_mapping_count() != mappings || allocated_bytes_in(place.rings()) != bytes) _exit(1);
  });
  EXPECT_EQ(child.wait(), 0) << "1: memory grew";
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.count("short"), 10'004u);
  ASSERT_TRUE(trace.counters);
  EXPECT_EQ(trace.counters->spans_dropped, 0u);
}

TEST(ManyThreads, BeyondTheLastRingAreSaidOnceAndCounted) {
  constexpr int count = 130, with_a_ring = 112;
  const RunPlace place;
  Child child([&] {
    std::atomic<int> said = 0;
    Config config = place.config();
    config.on_error = [&](std::string_view line) {
      if (line.find("at most 112 threads") != std::string_view::npos) ++said;
    };
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    std::latch recorded(count);
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < count; ++i) {
        threads.emplace_back([&] {
          { auto span = managed_span(SpanGroup::step, "short"); }
          recorded.arrive_and_wait();
        });
      }
    }
    run_threads(at_once);  // those that come later find the rings of those that have gone
    telemetry.shutdown();
    _exit(said == 1 ? 0 : 1);
  });
  EXPECT_EQ(child.wait(), 0);
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.count("short"), std::size_t{with_a_ring + at_once});
  EXPECT_EQ(trace.counters->spans_dropped, std::uint64_t{count - with_a_ring});
}

}  // namespace
}  // namespace lens::tests
