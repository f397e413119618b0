// SPDX-License-Identifier: Apache-2.0
// After a thread's first span, recording makes no system call and takes no memory.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <thread>

#include "tests/flow/recorded_trace.h"
#include "tests/support/sanitized.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

constexpr const char* why_not_sanitized = "a sanitizer's runtime takes memory and makes calls of its own";

constexpr int count = 2000;

void record_spans() {
  for (int i = 0; i < count; ++i) {
    auto step = managed_span(SpanGroup::step, "step", "iteration"_a = i, "phase_"_a = "forward", "loss"_a = 0.5);
    auto inner = managed_span(SpanGroup::optimizer, "inner");
    inner.set("more"_a = i);
    step.add_event("event", "n"_a = i);
  }
}

/// From now on any system call of this thread but its exit ends the process.
bool forbid_system_calls() {
  sock_filter only_exit[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{std::size(only_exit), only_exit};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Contract: L5
TEST(Recording, MakesNoSystemCall) {
  if (is_sanitized) GTEST_SKIP() << why_not_sanitized;
  TemporaryDirectory directory;
  constexpr int no_filters_here = 3;
  const int status = run_in_child([&] {
    auto telemetry = setup_telemetry(recording_config(directory.path()), {});
    std::atomic<bool> done{false};
    std::thread([&] {
      record_spans();
      if (!forbid_system_calls()) _exit(no_filters_here);
      record_spans();
      done = true;
      syscall(SYS_exit, 0);  // a thread's orderly end makes other calls
    }).detach();
    while (!done) std::this_thread::yield();
    telemetry.shutdown();
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_filters_here) GTEST_SKIP() << "this kernel filters no calls";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_trace(directory.path()).count("inner"), std::size_t{2 * count});
}

TEST(Recording, TakesNoMemoryAfterAThreadsFirstSpans) {
  if (is_sanitized) GTEST_SKIP() << why_not_sanitized;
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(recording_config(directory.path()), {});
  record_spans();
  // The pipeline's thread, which shows in the same numbers, takes some now and then; recording would in every round.
  constexpr int most_rounds = 10;
  int rounds = 1;
  std::size_t taken = 1;
  for (; taken != 0 && rounds < most_rounds; ++rounds) {
    ASSERT_TRUE(telemetry.force_flush(std::chrono::seconds(60)));  // so that the ring has room for a round
    const std::size_t before = mallinfo2().uordblks;
    record_spans();
    taken = mallinfo2().uordblks - before;
  }
  EXPECT_EQ(taken, 0u);
  telemetry.shutdown();
  EXPECT_EQ(read_trace(directory.path()).count("inner"), std::size_t(rounds * count));
}

// Contract: L16
TEST(Recording, AfterShutdownTakesNoMemoryAndLeavesNoTrace) {
  if (is_sanitized) GTEST_SKIP() << why_not_sanitized;
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(recording_config(directory.path()), {});
  { auto span = managed_span(SpanGroup::step, "before"); }
  telemetry.shutdown();
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 1'000'000; ++i) {
    auto gated = managed_span(SpanGroup::step, "gated", "i"_a = i);
    auto ungated = span_cm("ungated", "i"_a = i);
    auto handle = start_span(SpanGroup::step, "handle");
    handle.add_event("event");
  }
  EXPECT_EQ(mallinfo2().uordblks, before);
  EXPECT_EQ(read_trace(directory.path()).names(), "before");
}

}  // namespace
}  // namespace lens::tests
