// SPDX-License-Identifier: Apache-2.0
// Whether a process lives is told right while others look at its file, or recover it.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "tests/kill/child.h"
#include "tools/trace/process_state.h"

namespace lens::tests {
namespace {

namespace fs = std::filesystem;

struct Findings {
  std::atomic<int> recovered{0}, found_alive{0}, recoverers_done{0};
};

// Contract: 3.alive
TEST(DeadProcess, IsRecoveredOnceAndNeverTakenForAliveWhileSeveralRecoverAndLook) {
  const RunPlace place;
  EXPECT_EQ(run_in_child([&] {
              Config config = place.config();
              config.standard.span_batch.schedule_delay = std::chrono::hours(1);  // the span is left to recovery
              auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
              { auto span = managed_span(SpanGroup::job, "one span"); }
              _exit(0);
            }),
            0);
  const fs::path path = fs::directory_iterator(place.rings())->path();
  const fs::path kept = place.traces().parent_path() / "kept";
  fs::create_directories(kept);
  fs::copy_file(path, kept / "original");
  for (int round = 0; round < 100; ++round) {
    fs::remove_all(place.traces());
    if (round > 0) fs::copy_file(kept / "original", path);
    Findings findings;
    std::vector<std::jthread> threads;
    // All have opened the file before one can take its name away, or they would not find it.
    std::latch opened(4);
    const auto start = [&](auto body) {
      threads.emplace_back([&, body, rings = std::make_shared<trace::RingFile>(path)] {
        opened.arrive_and_wait();
        body(*rings);
      });
    };
    for (int i = 0; i < 2; ++i) {
      start([&](trace::RingFile& rings) {
        if (const auto recovery = trace::recover(rings)) findings.recovered += int(recovery->ended);
        ++findings.recoverers_done;
      });
      start([&](trace::RingFile& rings) {
        do findings.found_alive += rings.is_alive();
        while (findings.recoverers_done < 2);
      });
    }
    threads.clear();
    ASSERT_EQ(findings.recovered, 1) << "round " << round;
    ASSERT_EQ(findings.found_alive, 0) << "round " << round;
  }
}

// Contract: 3.alive
TEST(LivingProcess, IsAliveToAllWhoLookAtOnceAndIsNotRecovered) {
  const RunPlace place;
  auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
  const fs::path path = fs::directory_iterator(place.rings())->path();
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      trace::RingFile rings(path);
      for (int look = 0; look < 2000; ++look) wrong += !rings.is_alive() || rings.claim();
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lens::tests
