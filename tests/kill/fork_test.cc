// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "src/model/identity.h"
#include "tests/kill/child.h"
#include "tests/support/sanitized.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

// Contract: 3.fork, L2, C12
TEST(Fork, ChildrenRecordWithIdsOfTheirOwn) {
  const RunPlace place;
  Child parent([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    auto open = managed_span(SpanGroup::job, "parent");
    for (int number = 0; number < 4; ++number) {
      const int status = run_in_child([&] {
        for (int i = 0; i < 100; ++i) auto span = managed_span(SpanGroup::step, "child");
        std::exit(0);
      });
      EXPECT_EQ(status, 0);
    }
    for (int i = 0; i < 100; ++i) auto span = managed_span(SpanGroup::step, "own");
  });
  EXPECT_EQ(parent.wait(), 0);
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.count("parent"), 1u);
  EXPECT_EQ(trace.count("own"), 100u);
  EXPECT_EQ(trace.count("child"), 400u);
  std::set<std::string> spans, traces;
  for (const RecordedSpan& span : trace.spans) {
    spans.insert(span.span_id);
    if (span.name == "child") {
      traces.insert(span.trace_id);
      EXPECT_EQ(span.parent_id, "") << "an open span is not inherited";
    }
  }
  EXPECT_EQ(spans.size(), trace.spans.size());
  EXPECT_EQ(traces.size(), 400u) << "each a root";
  EXPECT_EQ(place.ring_file_count(), 0u);
}

// Contract: C25
TEST(Fork, EachProcessOfEachRankHasFilesOfItsOwnThatNameBoth) {
  const RunPlace place;
  const Shared<std::array<std::atomic<pid_t>, 4>> pids;
  for (int rank = 0; rank < 2; ++rank) {
    Child parent([&] {
      Config config = place.config();
      config.export_strategy = "all_ranks";
      auto telemetry = setup_telemetry(config, {.rank = rank, .world_size = 2});
      (*pids)[std::size_t(2 * rank)] = getpid();
      const int status = run_in_child([&] {
        (*pids)[std::size_t(2 * rank + 1)] = getpid();
        { auto span = managed_span(SpanGroup::step, "child"); }
        std::exit(0);
      });
      EXPECT_EQ(status, 0);
      auto span = managed_span(SpanGroup::step, "parent");
    });
    EXPECT_EQ(parent.wait(), 0);
  }
  std::set<std::string> expected, found;
  for (std::size_t process = 0; process < pids->size(); ++process)
    expected.insert("rank" + std::to_string(process / 2) + " " + std::to_string((*pids)[process]));
  for (const std::filesystem::path& file : place.trace().files) {
    const std::string name = file.filename().string();  // traces-rank<r>-<start>-<pid>.otlp.zst
    const std::size_t rank = name.find("rank"), pid = name.rfind('-') + 1;
    found.insert(name.substr(rank, name.find('-', rank) - rank) + " " + name.substr(pid, name.find('.') - pid));
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(place.trace().spans.size(), 4u);
}

// Ranks of one job often begin with one seed, for every generator that the program has.
// Contract: L1
TEST(Ids, ComeFromNoSeedOfTheProgram) {
  const RunPlace place;
  constexpr int ranks = 4, spans_of_each = 100;
  for (int rank = 0; rank < ranks; ++rank) {
    Child child([&] {
      std::srand(42);
      srand48(42);
      Config config = place.config();
      config.export_strategy = "all_ranks";
      auto telemetry = setup_telemetry(config, {.rank = rank, .world_size = ranks});
      const int before = std::rand();
      for (int i = 0; i < spans_of_each; ++i) auto span = managed_span(SpanGroup::step, "step");
      std::srand(42);
      EXPECT_EQ(std::rand(), before) << "the program's sequence is its own";
    });
    EXPECT_EQ(child.wait(), 0);
  }
  std::set<std::string> ids;
  for (const RecordedSpan& span : place.trace().spans) {
    ids.insert(span.span_id);
    ids.insert(span.trace_id);
  }
  EXPECT_EQ(ids.size(), std::size_t{2 * ranks * spans_of_each});
}

TEST(Fork, OfAKilledChildLeavesItsSpansToBeRecovered) {
  const RunPlace place;
  Child parent([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    run_in_child([] {
      auto open = managed_span(SpanGroup::job, "open in the child");
      { auto ended = managed_span(SpanGroup::step, "ended in the child"); }
      kill(getpid(), SIGKILL);
    });
  });
  EXPECT_EQ(parent.wait(), 0);
  EXPECT_EQ(place.recover().size(), 1u);
  EXPECT_FALSE(place.trace().only("ended in the child").truncated());
  EXPECT_TRUE(place.trace().only("open in the child").truncated());
}

// Another thread is in the middle of everything that takes a lock: new names, first spans of new threads, groups.
// Contract: 3.fork, L14
TEST(Fork, WhileOtherThreadsAreAtItDoesNotDeadlock) {
  constexpr int forks = is_sanitized ? 15 : 50;  // a sanitizer's take long beside so many busy threads
  const RunPlace place;
  Child parent([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    std::atomic<bool> stop{false};
    std::jthread names([&] {
      for (int i = 0; !stop; i = (i + 1) % 4000) {
        auto span = managed_span(SpanGroup::step, "name " + std::to_string(i));
        if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // or the trace fills the memory
      }
    });
    std::jthread threads([&] {
      while (!stop) std::thread([] { auto span = managed_span(SpanGroup::step, "short"); }).join();
    });
    std::jthread groups([&] {
      while (!stop) set_enabled_span_groups(MegatronSpanGroup::resolve("all"));
    });
    std::jthread carriers([&] {
      while (!stop) set_pp_trace_carrier(get_pp_trace_carrier());
    });
    std::jthread strategies([&] {
      while (!stop)
        register_export_strategy(
            "own", [](const Config&, const Rank&) { return true; }, true);
    });
    for (int i = 0; i < forks; ++i) {
      const int status = run_in_child([] {
        alarm(30);
        set_pp_trace_carrier(get_pp_trace_carrier());
        export_strategies();
        auto span = managed_span(SpanGroup::step, "in the child");
        set_enabled_span_groups(MegatronSpanGroup::resolve("per_step"));
        auto named = managed_span(SpanGroup::step, "a name of the child's own");
      });
      EXPECT_EQ(status, 0);
    }
    stop = true;
  });
  EXPECT_EQ(parent.wait(), 0);
  place.recover();
  EXPECT_EQ(place.trace().count("in the child"), std::size_t{forks});
}

// The first time is the one at which something may still have to be made.
// Contract: C10
TEST(Fork, BesideTheFirstUseOfTheCarrierAndTheStrategiesDoesNotDeadlock) {
  for (int round = 0; round < 200; ++round) {
    Child parent([] {
      std::atomic<bool> stop{false};
      std::jthread user([&] {
        while (!stop) {
          set_pp_trace_carrier(get_pp_trace_carrier());
          export_strategies();
        }
      });
      const int status = run_in_child([] {
        alarm(5);
        set_pp_trace_carrier(get_pp_trace_carrier());
        export_strategies();
      });
      stop = true;
      EXPECT_EQ(status, 0);
    });
    ASSERT_EQ(parent.wait(), 0) << "round " << round;
  }
}

// Contract: C11
TEST(Fork, AfterManyThreadsHaveGoneIsSound) {
  const RunPlace place;
  Child parent([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    for (int i = 0; i < 200; ++i) std::thread([] { auto span = managed_span(SpanGroup::step, "short"); }).join();
    EXPECT_EQ(run_in_child([] {
                auto span = managed_span(SpanGroup::step, "child");
                std::thread([] { auto span = managed_span(SpanGroup::step, "child's thread"); }).join();
              }),
              0);
  });
  EXPECT_EQ(parent.wait(), 0);
  place.recover();
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.count("short"), 200u);
  EXPECT_EQ(trace.count("child"), 1u);
  EXPECT_EQ(trace.count("child's thread"), 1u);
}

// ---- ids

std::uint64_t inverse_of_odd(std::uint64_t odd) {
  std::uint64_t inverse = odd;  // right in 3 bits; each step doubles them
  for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

std::uint64_t undo_shift(std::uint64_t value, int shift) {
  std::uint64_t before = value;
  for (int known = shift; known < 64; known += shift) before = value ^ before >> shift;
  return before;
}

/// What `model::mixed` makes its argument into, undone step by step.
std::uint64_t unmixed(std::uint64_t word) {
  word = undo_shift(word, 31) * inverse_of_odd(0x94d049bb133111eb);
  word = undo_shift(word, 27) * inverse_of_odd(0xbf58476d1ce4e5b9);
  return undo_shift(word, 30);
}

// Positions differ for all records of a process and its forked children. What maps them to ids can be undone, so ids
// differ too: that is tried on 10^8 of them, and holds for all.
// Contract: 3.ids, L3
TEST(Ids, DifferForAllPositions) {
  const model::IdentityKeys keys{0x1234567890abcdef, 2, 3};
  constexpr std::uint64_t ids_per_process = 25'000'000, processes = 4, record_bytes = 32;
  std::uint64_t zeros = 0, wrong = 0;
  for (std::uint64_t process = 0; process < processes; ++process) {
    const std::uint64_t first = (process << 8 | 1) << detail::position_ring_shift;
    for (std::uint64_t i = 0; i < ids_per_process; ++i) {
      const std::uint64_t position = first + i * record_bytes;
      const std::uint64_t id = model::span_word(position, keys);
      zeros += id == 0;
      wrong += unmixed(id) - keys.span != position;
    }
  }
  EXPECT_EQ(zeros, 0u);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace lens::tests
