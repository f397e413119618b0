// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/workload.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <queue>
#include <set>
#include <thread>

namespace lens::tests {
namespace {

using namespace lens::literals;

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void pause_now_and_then(bool pauses, std::uint64_t number) {
  constexpr std::uint64_t burst = 32;
  if (pauses && number % burst == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A span that finds no room is none: its number goes to the next.
void record_steps(Ledger& ledger, int thread, bool pauses) {
  Lane &steps = ledger.steps[std::size_t(thread)], &inner = ledger.inner[std::size_t(thread)];
  std::uint64_t step_number = 0, inner_number = 0;
  while (!ledger.stop.load()) {
    {
      auto step = managed_span(SpanGroup::step, "step", "thread"_a = thread, "n"_a = step_number);
      if (!step) continue;
      steps.begun = step_number + 1;
      for (int i = 0; i < 2; ++i) {
        {
          auto span = managed_span(SpanGroup::optimizer, "inner", "thread"_a = thread, "n"_a = inner_number,
                                   "step"_a = step_number);
          if (!span) continue;
          inner.begun = inner_number + 1;
        }
        inner.ended = ++inner_number;
      }
      step.add_event("half way");
      step.set("check"_a = step_number * 7919);
    }
    steps.ended = ++step_number;
    pause_now_and_then(pauses, step_number);
  }
}

/// Handles on their way from the thread that starts them to the one that ends them.
class Handover {
 public:
  void put(SpanHandle handle) {
    std::lock_guard lock(mutex_);
    handles_.push(std::move(handle));
    ready_.notify_one();
  }
  SpanHandle take() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !handles_.empty(); });
    SpanHandle handle = std::move(handles_.front());
    handles_.pop();
    return handle;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::queue<SpanHandle> handles_;
};

void start_requests(Ledger& ledger, Handover& handover) {
  for (std::uint64_t number = 0; !ledger.stop.load(); ++number) {
    SpanHandle request = start_span(SpanGroup::step, "request", {.root = true}, "n"_a = number);
    if (!request) break;
    ledger.requests.begun = number + 1;
    handover.put(std::move(request));
    // As many as are surely listed of one ring; also where the machine lets the other thread wait.
    constexpr std::uint64_t most_open = 4000;
    while (ledger.requests.begun - ledger.requests.ended > most_open && !ledger.stop.load())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (number % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  handover.put({});
}

void end_requests(Ledger& ledger, Handover& handover) {
  while (SpanHandle request = handover.take()) {
    request.set("answered"_a = true);
    request.end();
    ++ledger.requests.ended;
  }
}

struct Copies {
  const RecordedSpan* span = nullptr;
  int count = 0;
};
using Numbered = std::map<std::uint64_t, Copies>;

Numbered by_number(const RecordedTrace& trace, std::string_view name, std::int64_t thread) {
  Numbered spans;
  for (const RecordedSpan& span : trace.spans) {
    if (span.name != name || (thread >= 0 && span.at<std::int64_t>("thread") != thread)) continue;
    Copies& copies = spans[std::uint64_t(span.at<std::int64_t>("n"))];
    copies.span = &span;
    ++copies.count;
  }
  return spans;
}

// What has begun after it was last counted may be there; more than that may not.
void expect_lane(const Lane& lane, const Numbered& spans, const std::string& what) {
  std::uint64_t missing = 0, twice = 0, truncated = 0;
  for (std::uint64_t number = 0; number < lane.begun; ++number) {
    const auto found = spans.find(number);
    if (found == spans.end()) {
      ++missing;
      continue;
    }
    twice += found->second.count > 1;
    truncated += number < lane.ended && found->second.span->truncated();
  }
  EXPECT_EQ(missing, 0u) << what << ": of " << lane.begun;
  EXPECT_EQ(twice, 0u) << what;
  EXPECT_EQ(truncated, 0u) << what << ": ended, yet marked truncated";
  EXPECT_LE(spans.size(), lane.begun + 1) << what;
}

// What a span is told later may find no room in a full ring; then the span says so.
void expect_whole(const RecordedSpan& step) {
  const bool lost_some = step.dropped_attributes > 0 || step.dropped_events > 0;
  if (step.truncated() || lost_some) return;
  ASSERT_TRUE(step.has("check"));
  EXPECT_EQ(step.at<std::int64_t>("check"), step.at<std::int64_t>("n") * 7919);
  ASSERT_EQ(step.events.size(), 1u);
  EXPECT_EQ(step.events[0].name, "half way");
}

void expect_nested(const Numbered& steps, const Numbered& inner) {
  for (const auto& [number, copies] : inner) {
    const auto step = steps.find(std::uint64_t(copies.span->at<std::int64_t>("step")));
    ASSERT_NE(step, steps.end());
    EXPECT_EQ(copies.span->parent_id, step->second.span->span_id);
    EXPECT_EQ(copies.span->trace_id, step->second.span->trace_id);
  }
}

void expect_sound_ids(const RecordedTrace& trace) {
  std::set<std::string> ids;
  for (const RecordedSpan& span : trace.spans) ids.insert(span.span_id);
  EXPECT_EQ(ids.size(), trace.spans.size()) << "an id stands twice";
  std::size_t orphans = 0;
  for (const RecordedSpan& span : trace.spans) orphans += !span.parent_id.empty() && !ids.contains(span.parent_id);
  EXPECT_EQ(orphans, 0u);
}

}  // namespace

void work(Ledger& ledger, const Config& config, bool pauses) {
  auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
  ledger.job_before_ns = now_ns();
  auto job = managed_span(SpanGroup::job, "job");
  ledger.job_after_ns = now_ns();
  Handover handover;
  std::vector<std::jthread> threads;
  for (int thread = 1; thread < Ledger::thread_count; ++thread)
    threads.emplace_back([&ledger, thread, pauses] { record_steps(ledger, thread, pauses); });
  threads.emplace_back([&] { start_requests(ledger, handover); });
  threads.emplace_back([&] { end_requests(ledger, handover); });
  record_steps(ledger, 0, pauses);
}

void expect_all_recorded(const Ledger& ledger, const RecordedTrace& trace) {
  if (ledger.job_after_ns != 0) {
    constexpr std::int64_t blur_ns = 100'000;
    const RecordedSpan& job = trace.only("job");
    EXPECT_GE(std::int64_t(job.start_ns), ledger.job_before_ns - blur_ns);
    EXPECT_LE(std::int64_t(job.start_ns), ledger.job_after_ns + blur_ns);
  }
  ASSERT_TRUE(trace.counters);
  for (int thread = 0; thread < Ledger::thread_count; ++thread) {
    const Numbered steps = by_number(trace, "step", thread), inner = by_number(trace, "inner", thread);
    const std::string which = " of thread " + std::to_string(thread);
    expect_lane(ledger.steps[std::size_t(thread)], steps, "steps" + which);
    expect_lane(ledger.inner[std::size_t(thread)], inner, "inner spans" + which);
    for (const auto& [number, copies] : steps) expect_whole(*copies.span);
    expect_nested(steps, inner);
  }
  expect_lane(ledger.requests, by_number(trace, "request", -1), "requests");
  expect_sound_ids(trace);
}

}  // namespace lens::tests
