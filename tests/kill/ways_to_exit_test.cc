// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>
#include <thread>

#include "tests/kill/child.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

/// One span that has ended and one that is open, then `leave`. The open one is never destroyed, so that no exit closes
/// it.
void record_and(const RunPlace& place, const std::function<void()>& leave) {
  static auto* telemetry = new TelemetryHandle(setup_telemetry(place.config(), {.rank = 0, .world_size = 1}));
  EXPECT_TRUE(telemetry->is_exporting());
  static auto* open = open_scope(SpanGroup::job, "open").release();
  { auto ended = managed_span(SpanGroup::step, "ended"); }
  EXPECT_TRUE(*open);
  leave();
}

void expect_both(const RunPlace& place) {
  const RecordedTrace trace = place.trace();
  EXPECT_FALSE(trace.only("ended").truncated());
  EXPECT_TRUE(trace.only("open").truncated());
  EXPECT_EQ(trace.only("open").status, 0);
  EXPECT_EQ(trace.spans.size(), 2u);
}

// Ways to die that give nobody a chance: what was recorded is recovered from outside.

TEST(Exit, AtOnceIsRecovered) {
  const RunPlace place;
  Child child([&] { record_and(place, [] { _exit(3); }); });
  EXPECT_EQ(WEXITSTATUS(child.wait()), 3);
  EXPECT_EQ(place.recover().size(), 1u);
  expect_both(place);
}

TEST(Exit, ByAbortIsRecovered) {
  const RunPlace place;
  Child child([&] { record_and(place, [] { std::abort(); }); });
  EXPECT_EQ(WTERMSIG(child.wait()), SIGABRT);
  EXPECT_EQ(place.recover().size(), 1u);
  expect_both(place);
}

// Contract: L12
TEST(Exit, BySigtermWithoutAHandlerIsRecovered) {
  const RunPlace place;
  Child child([&] { record_and(place, [] { raise(SIGTERM); }); });
  EXPECT_EQ(WTERMSIG(child.wait()), SIGTERM);
  EXPECT_EQ(place.recover().size(), 1u);
  expect_both(place);
}

TEST(Exit, ByExecIsRecoveredThoughTheProcessLives) {
  const RunPlace place;
  int executed[2], until[2];
  ASSERT_EQ(pipe2(executed, O_CLOEXEC), 0);
  ASSERT_EQ(pipe(until), 0);
  Child child([&] {
    record_and(place, [&] {
      close(until[1]);
      dup2(until[0], STDIN_FILENO);
      execlp("cat", "cat", nullptr);
    });
  });
  close(executed[1]);
  close(until[0]);
  char none;
  EXPECT_EQ(read(executed[0], &none, 1), 0);  // it ends when the program is executed
  EXPECT_EQ(kill(child.pid(), 0), 0);
  EXPECT_EQ(place.recover().size(), 1u);
  expect_both(place);
  close(until[1]);
  close(executed[0]);
  EXPECT_EQ(WEXITSTATUS(child.wait()), 0);
}

// Ways to end in which the library flushes by itself and leaves nothing to recover.

TEST(Exit, FromAnotherThreadFlushes) {
  const RunPlace place;
  Child child([&] { record_and(place, [] { std::thread([] { std::exit(4); }).join(); }); });
  EXPECT_EQ(WEXITSTATUS(child.wait()), 4);
  expect_both(place);
  EXPECT_EQ(place.ring_file_count(), 0u);
}

TEST(Exit, WithOpenSpansFlushes) {
  const RunPlace place;
  Child child([&] { record_and(place, [] { std::exit(0); }); });
  EXPECT_EQ(WEXITSTATUS(child.wait()), 0);
  expect_both(place);
  EXPECT_EQ(place.ring_file_count(), 0u);
}

TEST(Exit, ByAnUncaughtExceptionFlushes) {
  const RunPlace place;
  Child child(
      [&] { std::thread([&] { record_and(place, [] { throw std::runtime_error("thrown by a test"); }); }).join(); });
  EXPECT_EQ(WTERMSIG(child.wait()), SIGABRT);
  expect_both(place);
  for (const trace::Recovery& recovery : place.recover()) EXPECT_TRUE(recovery.file.empty());
  EXPECT_EQ(place.trace().spans.size(), 2u);
}

TEST(Exit, AfterAChangeOfDirectoryFindsItsFilesAgain) {
  const RunPlace place;
  const std::filesystem::path above = place.rings().parent_path();
  std::filesystem::create_directory(above / "elsewhere");
  Child child([&] {
    Config config = place.config();
    config.shm_dir = "rings";
    config.file_dir = "traces";
    std::filesystem::current_path(above);
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    std::filesystem::current_path("elsewhere");
    { auto span = managed_span(SpanGroup::step, "parent"); }
    const int status = run_in_child([] {
      { auto span = managed_span(SpanGroup::step, "child"); }
      std::exit(0);
    });
    EXPECT_EQ(status, 0);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(place.ring_file_count(), 0u);
  EXPECT_EQ(place.trace().names(), "child parent");
  EXPECT_TRUE(std::filesystem::is_empty(above / "elsewhere"));
}

// Contract: 3.shutdown, L9, L11
TEST(Exit, AfterShutdownByTwoPathsWritesOnce) {
  const RunPlace place;
  Child child([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    { auto ended = managed_span(SpanGroup::step, "ended"); }
    telemetry.shutdown();
    telemetry.shutdown();
    std::exit(0);
  });
  EXPECT_EQ(WEXITSTATUS(child.wait()), 0);
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.names(), "ended");
  EXPECT_EQ(trace.counters->spans_exported, 1u);
  EXPECT_EQ(place.ring_file_count(), 0u);
}

// Contract: C14
TEST(Exit, WithAHandleInThreadLocalMemoryDoesNotHang) {
  const RunPlace place;
  Child child([&] {
    std::thread([&] {
      static thread_local TelemetryHandle telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
      auto span = managed_span(SpanGroup::step, "span");
      EXPECT_TRUE(telemetry.is_exporting());
    }).join();
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(place.trace().names(), "span");
}

// ---- spans where destructors run late

struct RecordsWhenDestroyed {
  const char* name;
  ~RecordsWhenDestroyed() {
    auto span = managed_span(SpanGroup::step, name);
    auto ungated = span_cm(name);
  }
};

// Contract: C13
TEST(Exit, RunsStaticDestructorsThatTraceBeforeAndAfterTheFlush) {
  const RunPlace place;
  Child child([&] {
    static const RecordsWhenDestroyed late{"after the flush"};
    static auto* telemetry = new TelemetryHandle(setup_telemetry(place.config(), {.rank = 0, .world_size = 1}));
    static const RecordsWhenDestroyed early{"before the flush"};
    std::exit(telemetry->is_exporting() ? 5 : 6);
  });
  EXPECT_EQ(WEXITSTATUS(child.wait()), 5);
  EXPECT_EQ(place.trace().count("before the flush"), 2u);
  EXPECT_EQ(place.ring_file_count(), 0u);
}

// Contract: C13
TEST(Exit, WhileOtherThreadsTraceIsOrderly) {
  for (int round = 0; round < 8; ++round) {
    const RunPlace place;
    Child child([&] {
      static auto* telemetry = new TelemetryHandle(setup_telemetry(place.config(), {.rank = 0, .world_size = 1}));
      static const RecordsWhenDestroyed early{"before the flush"};
      static std::atomic<int> recording{0};
      for (int number = 0; number < 2; ++number) {
        std::thread([] {
          for (bool first = true;; first = false) {
            auto step = managed_span(SpanGroup::step, "step");
            auto handle = start_span(SpanGroup::step, "handle");
            recording += first;
          }
        }).detach();
      }
      while (recording < 2) std::this_thread::yield();
      std::exit(telemetry->is_exporting() ? 5 : 6);
    });
    ASSERT_EQ(WEXITSTATUS(child.wait()), 5);
    const RecordedTrace trace = place.trace();
    EXPECT_GT(trace.count("step"), 0u);
    EXPECT_EQ(trace.count("before the flush"), 2u);
    EXPECT_TRUE(trace.problems.empty());
    EXPECT_EQ(place.ring_file_count(), 0u);
  }
}

TEST(Exit, OfAThreadRunsItsDestructorsThatTrace) {
  const RunPlace place;
  Child child([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    for (int i = 0; i < 200; ++i) {
      std::thread([] {
        static thread_local const RecordsWhenDestroyed before_the_first_span{"late"};
        static_cast<void>(before_the_first_span.name);
        auto span = managed_span(SpanGroup::step, "body");
      }).join();
    }
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(place.trace().count("body"), 200u);
  EXPECT_EQ(place.trace().count("late"), 400u);
}

// ---- scopes that a thread's forced end unwinds

void* leave_by_pthread_exit(void*) {
  auto outer = managed_span(SpanGroup::step, "outer");
  auto inner = managed_span(SpanGroup::step, "inner");
  pthread_exit(nullptr);
}

void* wait_to_be_cancelled(void* ready) {
  auto span = managed_span(SpanGroup::step, "cancelled");
  static_cast<std::atomic<bool>*>(ready)->store(true);
  while (true) {
    pthread_testcancel();
    std::this_thread::yield();
  }
}

TEST(Exit, OfAThreadByForceEndsItsScopesAndIsNoError) {
  const RecordedTrace trace = record([] {
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, leave_by_pthread_exit, nullptr), 0);
    pthread_join(thread, nullptr);
    std::atomic<bool> ready{false};
    ASSERT_EQ(pthread_create(&thread, nullptr, wait_to_be_cancelled, &ready), 0);
    while (!ready) std::this_thread::yield();
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  });
  EXPECT_EQ(trace.names(), "cancelled inner outer");
  for (const RecordedSpan& span : trace.spans) {
    EXPECT_FALSE(span.truncated()) << span.name;
    EXPECT_EQ(span.status, 0) << span.name;
    EXPECT_TRUE(span.events.empty()) << span.name;
  }
  EXPECT_EQ(trace.only("inner").parent_id, trace.only("outer").span_id);
}

}  // namespace
}  // namespace lens::tests
