// SPDX-License-Identifier: Apache-2.0
// Work that leaves the thread on which its span began: pools, coroutines, recomputation; and code that says something
// of a span that somebody else holds.
#include <gtest/gtest.h>

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/flow/recorded_trace.h"
#include "tests/support/foreign_context.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

/// Two threads that run what they are given until the end of the pool.
class Pool {
 public:
  void submit(std::function<void()> task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    ready_.notify_all();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [&] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  bool over_ = false;
  std::jthread first_{[this] { run(); }}, second_{[this] { run(); }};
};

// Contract: 4.context-to-thread
TEST(Pool, RunsEachTaskUnderTheSpanThatSubmittedIt) {
  constexpr int steps = 50;
  const RecordedTrace trace = record([] {
    Pool pool;
    for (int i = 0; i < steps; ++i) {
      auto step = managed_span(SpanGroup::step, "step", "iteration"_a = i);
      pool.submit(with_current_context([i] { auto task = managed_span(SpanGroup::step, "task", "iteration"_a = i); }));
    }
  });
  std::map<std::string, std::int64_t> iterations;
  for (const RecordedSpan& span : trace.spans)
    if (span.name == "step") iterations[span.span_id] = span.at<std::int64_t>("iteration");
  EXPECT_EQ(trace.count("task"), std::size_t{steps});
  for (const RecordedSpan& span : trace.spans) {
    if (span.name == "task") {
      EXPECT_EQ(iterations.at(span.parent_id), span.at<std::int64_t>("iteration"));
    }
  }
}

// As an engine that runs backward passes on threads of its own computes a layer anew.
// Contract: 4.recompute
TEST(Recomputation, OnAnotherThreadHasTheStepAsItsParent) {
  const RecordedTrace trace = record([] {
    auto step = managed_span(SpanGroup::step, "step");
    const SpanContext context = current_context();
    std::thread([context] {
      auto forward =
          managed_span(MegatronSpanGroup::layer, "layer", SpanOptions{.parent = context}, "recompute"_a = true);
    }).join();
  });
  EXPECT_EQ(trace.only("layer").parent_id, trace.only("step").span_id);
  EXPECT_EQ(trace.only("layer").trace_id, trace.only("step").trace_id);
}

// clang 14 cannot compile a coroutine with the instrumentation that the fuzzers need.
#if !defined(__clang__)

/// Goes on where it is resumed.
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Task answer(SpanHandle request) {
  request.set("parts"_a = 1);
  co_await std::suspend_always{};
  {
    const auto scope = request.activate();
    auto work = managed_span(SpanGroup::step, "work");
  }
  request.set("parts"_a = 2);
  request.end();
}

// Contract: 4.handle
TEST(Coroutine, HoldsItsSpanOverSuspensionAndOnWhateverThreadItGoesOn) {
  const RecordedTrace trace = record([] {
    const Task task = answer(start_span(SpanGroup::step, "request"));
    {
      auto between = managed_span(SpanGroup::step, "between");
      EXPECT_FALSE(task.handle.done());
    }
    std::thread([&] { task.handle.resume(); }).join();
    EXPECT_TRUE(task.handle.done());
    task.handle.destroy();
  });
  const RecordedSpan& request = trace.only("request");
  EXPECT_FALSE(request.truncated());
  EXPECT_EQ(request.at<std::int64_t>("parts"), 2);
  EXPECT_EQ(trace.only("work").parent_id, request.span_id);
  EXPECT_EQ(trace.only("between").parent_id, "");
}

#else

// Contract: 4.handle
TEST(Coroutine, HoldsItsSpanOverSuspensionAndOnWhateverThreadItGoesOn) {
  GTEST_SKIP() << "not compiled by clang: its coroutines clash with the instrumentation of the fuzzers";
}

#endif

// Contract: 4.current-span
TEST(CurrentSpan, TakesWhatIsSaidOfIt) {
  const RecordedTrace trace = record([] {
    EXPECT_FALSE(current_span());
    current_span().set("nobody"_a = 1);
    auto step = managed_span(SpanGroup::step, "step");
    [] { current_span().set("loss"_a = 0.5); }();
    {
      auto inner = managed_span(SpanGroup::step, "inner");
      current_span().add_event("event");
      current_span().set_status(StatusCode::error, "bad");
    }
    EXPECT_EQ(current_span().context(), step.context());
  });
  EXPECT_EQ(trace.only("step").at<double>("loss"), 0.5);
  EXPECT_EQ(trace.only("inner").events.at(0).name, "event");
  EXPECT_EQ(trace.only("inner").status, 2);
}

// Contract: 4.current-span
TEST(CurrentSpan, OfAnActiveHandleIsTheHandlesSpan) {
  const RecordedTrace trace = record([] {
    SpanHandle request = start_span(SpanGroup::step, "request");
    std::thread([&] {
      const auto scope = request.activate();
      current_span().set("answer"_a = 42);
    }).join();
    request.end();
    const SpanContext foreign = foreign_context();
    const ActiveScope scope(foreign);
    EXPECT_FALSE(current_span());  // another process's
    auto adopted = adopt_span(SpanGroup::step, "adopted", foreign);
    current_span().set("own"_a = true);
  });
  EXPECT_EQ(trace.only("request").at<std::int64_t>("answer"), 42);
  EXPECT_TRUE(trace.only("adopted").at<bool>("own"));
}

}  // namespace
}  // namespace lens::tests
