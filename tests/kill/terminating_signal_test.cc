// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "tests/kill/child.h"

namespace lens::tests {
namespace {

struct Progress {
  std::atomic<int> entered;
  std::atomic<int> handled;
  std::atomic<bool> recording;
};

std::atomic<Progress*> watched{nullptr};

void drain_on_signal(int) {
  ++watched.load()->entered;
  graceful_drain(std::chrono::milliseconds(500));
  ++watched.load()->handled;
}

void install(int flags) {
  struct sigaction action {};
  action.sa_handler = drain_on_signal;
  action.sa_flags = flags;
  sigaction(SIGTERM, &action, nullptr);
}

/// Begins spans without pause, half of them with names not seen before, until `signals` have been handled.
void record_until_handled(const RunPlace& place, Progress& progress, int signals) {
  auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
  for (int i = 0; progress.handled < signals; ++i) {
    auto span = managed_span(SpanGroup::step, "step");
    auto named = managed_span(SpanGroup::step, "name " + std::to_string(i % 30'000));
    progress.recording = true;
  }
}

// Contract: 3.sigterm, D23
TEST(TerminatingSignal, InTheMiddleOfASpansBeginDrainsWithoutDeadlock) {
  const RunPlace place;
  const Shared<Progress> progress;
  constexpr int signals = 20;
  Child child([&] {
    watched = &*progress;
    install(0);
    record_until_handled(place, *progress, signals);
  });
  while (!progress->recording) std::this_thread::yield();
  for (int sent = 0; sent < signals; ++sent) {
    child.signal(SIGTERM);
    while (progress->handled <= sent) std::this_thread::yield();
  }
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GT(place.trace().count("step"), 0u);
}

TelemetryHandle* shut_down_by_handler = nullptr;

void shut_down_on_signal(int) {
  shut_down_by_handler->shutdown();
  ++watched.load()->handled;
}

// It is not meant to: `shutdown` takes locks and gives memory back. But the recording thread holds none of them.
// Contract: D23
TEST(TerminatingSignal, ThatShutsDownInTheMiddleOfASpanDoesNotDeadlock) {
  for (int round = 0; round < 8; ++round) {
    const RunPlace place;
    const Shared<Progress> progress;
    Child child([&] {
      watched = &*progress;
      auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
      shut_down_by_handler = &telemetry;
      signal(SIGTERM, shut_down_on_signal);
      while (progress->handled == 0) {
        auto step = managed_span(SpanGroup::step, "step");
        auto inner = managed_span(SpanGroup::step, "inner");
        progress->recording = true;
      }
    });
    while (!progress->recording) std::this_thread::yield();
    child.signal(SIGTERM);
    EXPECT_EQ(child.wait(), 0);
    EXPECT_GT(place.trace().count("step"), 0u);
    EXPECT_EQ(place.ring_file_count(), 0u);
  }
}

TEST(TerminatingSignal, DuringTheDrainOfAnotherIsHandledToo) {
  const RunPlace place;
  const Shared<Progress> progress;
  constexpr int signals = 10;
  Child child([&] {
    watched = &*progress;
    install(SA_NODEFER);
    record_until_handled(place, *progress, signals);
  });
  while (!progress->recording) std::this_thread::yield();
  for (int sent = 0; sent < signals; ++sent) {
    child.signal(SIGTERM);
    while (progress->entered <= sent) std::this_thread::yield();  // the next one finds this one's drain under way
  }
  EXPECT_EQ(child.wait(), 0);
}

// Contract: 3.sigterm
TEST(TerminatingSignal, StaysWithTheHandlerOfTheProgram) {
  install(0);
  struct sigaction during {
  }, after{};
  record([&] { sigaction(SIGTERM, nullptr, &during); });
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(during.sa_handler, drain_on_signal);
  EXPECT_EQ(after.sa_handler, drain_on_signal);
  signal(SIGTERM, SIG_DFL);
}

TEST(TerminatingSignal, OnceTelemetryIsOffIsDrainedAtOnce) {
  EXPECT_FALSE(graceful_drain());
  record([] {});
  EXPECT_FALSE(graceful_drain());
}

}  // namespace
}  // namespace lens::tests
