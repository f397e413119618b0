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

namespace lens::tests {
namespace {

using namespace lens::literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LENS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LENS_SANITIZED
#endif
#endif
#ifdef LENS_SANITIZED
#define LENS_SKIP_WHEN_SANITIZED() GTEST_SKIP() << "a sanitizer's runtime takes memory and makes calls of its own"
#else
#define LENS_SKIP_WHEN_SANITIZED()
#endif

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

TEST(Recording, MakesNoSystemCall) {
  LENS_SKIP_WHEN_SANITIZED();
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
  LENS_SKIP_WHEN_SANITIZED();
  const RecordedTrace trace = record([] {
    record_spans();
    // Of the main thread's arena; the pipeline's thread has one of its own.
    const std::size_t before = mallinfo2().uordblks;
    record_spans();
    EXPECT_EQ(mallinfo2().uordblks, before);
  });
  EXPECT_EQ(trace.count("inner"), std::size_t{2 * count});
}

}  // namespace
}  // namespace lens::tests
