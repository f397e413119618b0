// SPDX-License-Identifier: Apache-2.0
// Eight threads record, groups are flipped and a reader outside looks in, all at once: every span that is read, alive
// or at the end, is whole. LENS_STRESS_SECONDS says for how long (5 unless set).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

#include "src/otlp/record_items.h"
#include "tests/flow/recorded_trace.h"
#include "tools/trace/process_state.h"
#include "tools/trace/trace.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

constexpr int thread_count = 8;

std::chrono::seconds duration() {
  const char* text = std::getenv("LENS_STRESS_SECONDS");
  return std::chrono::seconds(text ? std::atol(text) : 5);
}

std::int64_t checksum(std::int64_t thread, std::int64_t n) { return n * 7919 + thread; }

std::string text_of(std::int64_t n) { return std::string(std::size_t(n % 40), char('a' + n % 26)); }

void record_until(const std::atomic<bool>& stop, int thread) {
  for (std::int64_t n = 0; !stop; ++n) {
    auto step = managed_span(SpanGroup::step, "step", "thread"_a = thread, "n"_a = n, "text"_a = text_of(n),
                             "check"_a = checksum(thread, n));
    auto inner =
        managed_span(SpanGroup::optimizer, "inner", "thread"_a = thread, "n"_a = n, "check"_a = checksum(thread, n));
    if (n % 8 == 0) inner.add_event("event", "n"_a = n);
    constexpr std::int64_t burst = 16;
    if (n % burst == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void flip_groups_until(const std::atomic<bool>& stop) {
  while (!stop) {
    set_enabled_span_groups(GroupSet{SpanGroup::step});
    std::this_thread::yield();
    set_enabled_span_groups(GroupSet{SpanGroup::step, SpanGroup::optimizer});
    std::this_thread::yield();
  }
}

/// Spans of a live process as they are in its rings.
struct LiveCheck : assemble::SpanSink {
  explicit LiveCheck(const trace::RingFile& rings) : rings(rings) {}

  void on_span(const otlp::SpanRecord& span) override {
    std::map<std::string_view, std::int64_t> numbers;
    otlp::for_each_item(span.items, [&](const detail::ItemHeader& header, const std::byte* payload) {
      if (header.type == detail::ItemType::integer)
        numbers[rings.name(header.key)] = std::int64_t(otlp::word_at(payload));
      return true;
    });
    ++spans;
    torn += numbers["check"] != checksum(numbers["thread"], numbers["n"]) || span.end_unix_ns < span.start_unix_ns;
  }

  const trace::RingFile& rings;
  std::uint64_t spans = 0, torn = 0;
};

/// The only thing that a reader of a live process may have to say: a ring that moved on whenever it was read.
bool is_of_a_ring_in_motion(const std::string& problem) {
  return problem.starts_with("ring ") && problem.ends_with(": cannot be read");
}

struct Looks {
  std::uint64_t looks = 0, spans = 0, torn = 0, rings_in_motion = 0;
};

Looks look_until(const std::atomic<bool>& stop, const std::filesystem::path& shm_dir) {
  Looks looks;
  auto files = trace::find_ring_files(shm_dir, "");
  if (files.size() != 1) return looks;
  trace::RingFile& rings = files.front();
  for (; !stop; ++looks.looks) {
    rings.read_facts();
    assemble::Assembler assembler(rings.keys(), rings.time_line(), rings.started_in());
    LiveCheck check(rings);
    std::vector<std::string> problems;
    rings.feed(assembler, check, problems);
    const trace::ProcessState state = trace::read_process_state(rings);
    EXPECT_TRUE(state.is_alive);
    problems.insert(problems.end(), state.problems.begin(), state.problems.end());
    for (const std::string& problem : problems) EXPECT_TRUE(is_of_a_ring_in_motion(problem)) << problem;
    looks.spans += check.spans;
    looks.torn += check.torn;
    looks.rings_in_motion += problems.size();
  }
  return looks;
}

/// The whole trace, file by file: each thread's spans come in the order in which they ended.
struct TraceCheck : trace::TraceVisitor {
  struct Thread {
    std::int64_t last_step = -1, last_inner = -1;
    std::string parent_of_inner;
  };

  void on_resource(trace::Encoded) override {}
  void on_span(const trace::Span& span) override {
    const auto number = [&](std::string_view key) {
      const auto value = trace::find_attribute(span.attributes, key);
      return value ? value->integer : -1;
    };
    const std::int64_t n = number("n");
    Thread& thread = threads[number("thread")];
    torn += number("check") != checksum(number("thread"), n) || span.end_ns < span.start_ns;
    std::int64_t& last = span.name == "step" ? thread.last_step : thread.last_inner;
    disordered += n <= last;
    last = n;
    if (span.name != "step") thread.parent_of_inner = span.parent_span_id;
    if (span.name == "step" && thread.last_inner == n) orphans += thread.parent_of_inner != span.span_id;
    ++spans;
  }

  std::map<std::int64_t, Thread> threads;
  std::uint64_t spans = 0, torn = 0, disordered = 0, orphans = 0;
};

TEST(Stress, EverySpanReadBackIsWholeAndInOrder) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path() / "traces", "step,optimizer");
  config.shm_dir = directory.path() / "rings";
  config.on_error = [](std::string_view) {};  // drops, where the machine is slow
  auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
  Looks looks;
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < thread_count; ++thread)
      threads.emplace_back([&stop, thread] { record_until(stop, thread); });
    threads.emplace_back([&] { flip_groups_until(stop); });
    threads.emplace_back([&] { looks = look_until(stop, config.shm_dir); });
    std::this_thread::sleep_for(duration());
    stop = true;
  }
  const TelemetryCounters counters = [&] {
    telemetry.force_flush(std::chrono::seconds(60));
    return telemetry.counters();
  }();
  telemetry.shutdown();

  EXPECT_GT(looks.looks, 0u);
  EXPECT_GT(looks.spans, 0u);
  EXPECT_EQ(looks.torn, 0u) << "of " << looks.spans;
  EXPECT_LT(looks.rings_in_motion, looks.looks * thread_count) << "half: a look reads each ring twice";

  TraceCheck check;
  const auto result = trace::read_spans(trace::open_trace(config.file_dir), check);
  EXPECT_TRUE(result.problems.empty());
  EXPECT_EQ(check.spans, counters.spans_recorded);
  EXPECT_EQ(check.threads.size(), std::size_t(thread_count));
  EXPECT_EQ(check.torn, 0u);
  EXPECT_EQ(check.disordered, 0u);
  EXPECT_EQ(check.orphans, 0u);
  RecordProperty("spans", std::to_string(check.spans));
  RecordProperty("looks", std::to_string(looks.looks));
  RecordProperty("rings_in_motion", std::to_string(looks.rings_in_motion));
}

}  // namespace
}  // namespace lens::tests
