// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <thread>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

std::size_t position_of(const RecordedTrace& trace, std::string_view name) {
  for (std::size_t i = 0; i < trace.spans.size(); ++i)
    if (trace.spans[i].name == name) return i;
  ADD_FAILURE() << "no span " << name;
  return 0;
}

// Contract: 3.shutdown, L7, L9, L10, L11, L15
TEST(Shutdown, EndsOpenSpansInnermostFirst) {
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(recording_config(directory.path()), {});
  auto outer = open_scope(SpanGroup::job, "outer");
  auto inner = open_scope(SpanGroup::step, "inner");
  auto handle = start_span(SpanGroup::step, "handle");
  { auto ended = managed_span(SpanGroup::step, "ended"); }
  telemetry.shutdown();
  telemetry.shutdown();
  EXPECT_EQ(telemetry.counters().spans_exported, 4u);
  EXPECT_FALSE(managed_span(SpanGroup::step, "late"));
  EXPECT_FALSE(span_cm("late"));
  inner->set(attribute("late", true));
  handle.end();
  inner.reset();
  outer.reset();

  const RecordedTrace trace = read_trace(directory.path());
  EXPECT_EQ(trace.names(), "ended handle inner outer");
  for (const char* name : {"handle", "inner", "outer"}) {
    const RecordedSpan& span = trace.only(name);
    EXPECT_TRUE(span.at<bool>("nemo.span.truncated"));
    ASSERT_EQ(span.events.size(), 1u);
    EXPECT_EQ(span.events[0].name, "nemo.span.truncated");
    EXPECT_FALSE(std::get<std::string>(span.events[0].attributes.at("reason")).empty());
    EXPECT_EQ(span.status, 0);
    EXPECT_FALSE(span.has("late"));
  }
  EXPECT_FALSE(trace.only("ended").truncated());
  EXPECT_TRUE(trace.only("ended").events.empty());
  EXPECT_LT(position_of(trace, "inner"), position_of(trace, "outer"));
  EXPECT_LT(position_of(trace, "handle"), position_of(trace, "inner"));
  EXPECT_LE(trace.only("inner").end_ns, trace.only("outer").end_ns);
  EXPECT_EQ(trace.counters->spans_truncated, 3u);
  EXPECT_EQ(trace.counters->spans_exported, 4u);
}

// Contract: 3.flush, L8
TEST(ForceFlush, NeverEndsASpan) {
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(recording_config(directory.path()), {});
  auto outer = open_scope(SpanGroup::job, "outer");
  auto handle = start_span(SpanGroup::job, "handle");
  { auto ended = managed_span(SpanGroup::step, "ended"); }
  EXPECT_TRUE(telemetry.force_flush(std::chrono::seconds(60)));
  EXPECT_EQ(read_trace(directory.path()).names(), "ended");
  { auto after = managed_span(SpanGroup::step, "after"); }
  EXPECT_TRUE(graceful_drain(std::chrono::seconds(60)));
  EXPECT_EQ(read_trace(directory.path()).names(), "after ended");
  EXPECT_EQ(telemetry.counters().spans_exported, 2u);
  handle.end();
  outer.reset();
  telemetry.shutdown();
  const RecordedTrace trace = read_trace(directory.path());
  EXPECT_EQ(trace.names(), "after ended handle outer");
  EXPECT_FALSE(trace.only("outer").truncated());
  EXPECT_EQ(trace.only("after").parent_id, trace.only("outer").span_id);
}

// Contract: 3.second
TEST(SetUp, OfTwoThrowsUnlessTheSecondIsDisabled) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path());
  config.replace_running = false;
  auto telemetry = setup_telemetry(config, {});
  EXPECT_THROW(auto second = setup_telemetry(config, {}), std::logic_error);
  EXPECT_TRUE(is_span_group_enabled(SpanGroup::job));
  Config disabled = config;
  disabled.enabled = false;
  EXPECT_FALSE(setup_telemetry(disabled, {}).is_exporting());
  EXPECT_TRUE(is_span_group_enabled(SpanGroup::job));
  { auto span = managed_span(SpanGroup::job, "still recorded"); }
  telemetry.shutdown();
  EXPECT_EQ(read_trace(directory.path()).names(), "still recorded");
}

// Contract: 3.second
TEST(SetUp, WorksAgainAfterShutdown) {
  for (int i = 0; i < 3; ++i) {
    const RecordedTrace trace = record(
        [] {
          auto outer = managed_span(SpanGroup::job, "outer");
          auto inner = managed_span(SpanGroup::step, "inner");
          std::thread([] { auto other = managed_span(SpanGroup::step, "other"); }).join();
        },
        [](Config& config) { config.replace_running = false; });
    EXPECT_EQ(trace.names(), "inner other outer");
    EXPECT_EQ(trace.only("inner").parent_id, trace.only("outer").span_id);
    EXPECT_EQ(trace.counters->spans_recorded, 3u);
    EXPECT_EQ(trace.counters->spans_dropped, 0u);
  }
}

// A restart in the process: what stayed open is no parent of what comes next, for readers of contexts and of traces.
TEST(SetUp, AfterAShutdownThatFoundScopesOpenBeginsTracesOfItsOwn) {
  std::unique_ptr<ScopedSpan> outer;
  const RecordedTrace first = record([&] { outer = open_scope(SpanGroup::job, "outer"); });
  EXPECT_TRUE(first.only("outer").truncated());
  const RecordedTrace second = record([&] {
    EXPECT_FALSE(current_context());
    EXPECT_FALSE(outer->context());
    {
      auto step = managed_span(SpanGroup::step, "step");
      step.set(attribute("trace", step.context().trace_id.hex()));
    }
    outer.reset();
    EXPECT_FALSE(current_context());
  });
  EXPECT_EQ(second.names(), "step");
  EXPECT_EQ(second.only("step").parent_id, "");
  EXPECT_EQ(second.only("step").at<std::string>("trace"), second.only("step").trace_id);
}

// Contract: 3.second
TEST(SetUp, ReplacesARunningOneWhenATestAsksForIt) {
  TemporaryDirectory first, second;
  auto old = setup_telemetry(recording_config(first.path()), {});
  { auto span = managed_span(SpanGroup::job, "first"); }
  auto telemetry = setup_telemetry(recording_config(second.path()), {});
  { auto span = managed_span(SpanGroup::job, "second"); }
  old.shutdown();
  { auto span = managed_span(SpanGroup::job, "third"); }
  telemetry.shutdown();
  EXPECT_EQ(read_trace(first.path()).names(), "first");
  EXPECT_EQ(read_trace(second.path()).names(), "second third");
}

// Contract: 2.file
TEST(SetUp, OnADirectoryThatCannotBeWrittenThrowsBeforeAnySideEffect) {
  TemporaryDirectory directory;
  directory.write("file", "in the way");
  const std::size_t threads = thread_count();
  for (const char* place : {"file", "file/below"}) {
    const Config config = recording_config(directory.path() / place);
    EXPECT_THROW(auto telemetry = setup_telemetry(config, {}), std::invalid_argument);
    EXPECT_FALSE(is_span_group_enabled(SpanGroup::job));
    EXPECT_FALSE(span_cm("nothing"));
    EXPECT_EQ(thread_count(), threads);
  }
  // And nothing is left that would stand in the way of the next.
  EXPECT_EQ(record([] { auto span = managed_span(SpanGroup::job, "job"); }).names(), "job");
}

// Contract: 3.exit, L6
TEST(Exit, FlushesAndEndsWhatIsOpen) {
  TemporaryDirectory directory;
  const int status = run_in_child([&] {
    // Still there when the process has destroyed all else.
    static const auto* telemetry = new TelemetryHandle(setup_telemetry(recording_config(directory.path()), {}));
    static const auto* job = open_scope(SpanGroup::job, "job").release();
    EXPECT_TRUE(telemetry->is_exporting() && *job);
    { auto step = managed_span(SpanGroup::step, "step"); }
    std::exit(7);
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  const RecordedTrace trace = read_trace(directory.path());
  EXPECT_EQ(trace.names(), "job step");
  EXPECT_TRUE(trace.only("job").truncated());
}

[[gnu::noinline]] void fail() { throw std::runtime_error("nobody catches this (expected)"); }

// Contract: 3.exit, L6
TEST(UncaughtException, FlushesAndStillAborts) {
  TemporaryDirectory directory;
  const int status = run_in_child([&]() noexcept {
    auto telemetry = setup_telemetry(recording_config(directory.path()), {});
    auto job = managed_span(SpanGroup::job, "job");
    { auto step = managed_span(SpanGroup::step, "step"); }
    fail();
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  const RecordedTrace trace = read_trace(directory.path());
  EXPECT_EQ(trace.names(), "job step");
}

// Contract: 3.fork, L13
TEST(Fork, LeavesTheParentsSpansToTheParent) {
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(recording_config(directory.path()), {});
  {
    auto job = managed_span(SpanGroup::job, "parent job");
    auto step = open_scope(SpanGroup::step, "parent step");
    auto handle = start_span(SpanGroup::step, "parent handle");
    const int status = run_in_child([&] {
      EXPECT_FALSE(current_context());
      step->set(attribute("from the child", true));
      handle.end();
      step.reset();
      std::exit(testing::Test::HasFailure());
    });
    EXPECT_EQ(status, 0);
  }
  telemetry.shutdown();
  const RecordedTrace trace = read_trace(directory.path());
  EXPECT_EQ(trace.names(), "parent handle parent job parent step");
  EXPECT_FALSE(trace.only("parent step").has("from the child"));
  EXPECT_EQ(trace.files.size(), 1u);
}

TEST(Fork, GivesAChildThatRecordsIdsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer supports no threads in a child of a process with several";
#endif
  TemporaryDirectory directory;
  auto telemetry = setup_telemetry(recording_config(directory.path()), {});
  { auto span = managed_span(SpanGroup::job, "parent"); }
  for (int i = 0; i < 3; ++i) {
    const int status = run_in_child([] {
      for (int j = 0; j < 10; ++j) auto span = managed_span(SpanGroup::job, "child");
      std::exit(0);
    });
    EXPECT_EQ(status, 0);
  }
  { auto span = managed_span(SpanGroup::job, "parent"); }
  telemetry.shutdown();
  const RecordedTrace trace = read_trace(directory.path());
  EXPECT_EQ(trace.count("parent"), 2u);
  EXPECT_EQ(trace.count("child"), 30u);
  std::map<std::string, int> ids;
  for (const RecordedSpan& span : trace.spans) ++ids[span.span_id], ++ids[span.trace_id];
  EXPECT_EQ(ids.size(), 64u);
}

}  // namespace
}  // namespace lens::tests
