// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "tests/flow/recorded_trace.h"
#include "tests/support/environment.h"

namespace lens::tests {
namespace {

const std::string launcher_trace = "4bf92f3577b34da6a3ce929d0e0e4736", launcher_span = "00f067aa0ba902b7";
const std::string traceparent = "00-" + launcher_trace + "-" + launcher_span + "-01";

test::Environment launched_environment() {
  return {{"TRACEPARENT", traceparent.c_str()}, {"TRACESTATE", "vendor=1"}, {"BAGGAGE", "team=a%20b"}};
}

void take_from_environment(Config& config) { config.started_in = Config::from_env().started_in; }

// Contract: 5.launcher
TEST(LauncherSpan, IsTheParentOfWhatWouldBeginATrace) {
  const auto environment = launched_environment();
  const RecordedTrace trace = record(
      [] {
        auto handle = start_span(SpanGroup::step, "handle");
        EXPECT_EQ(handle.context().trace_id.hex(), launcher_trace);
        auto root = managed_span(SpanGroup::job, "root");
        EXPECT_EQ(current_context().trace_id.hex(), launcher_trace);
        EXPECT_EQ(current_context().flags, SpanContext::sampled);
        auto child = managed_span(SpanGroup::step, "child");
        EXPECT_EQ(child.context().trace_id.hex(), launcher_trace);
        std::thread([] { auto span = managed_span(SpanGroup::step, "thread"); }).join();
      },
      take_from_environment);
  for (const char* name : {"handle", "root", "thread"}) {
    EXPECT_EQ(trace.only(name).trace_id, launcher_trace);
    EXPECT_EQ(trace.only(name).parent_id, launcher_span);
    EXPECT_EQ(trace.only(name).flags, 0x301u);  // known to be remote, sampled
  }
  EXPECT_EQ(trace.only("child").trace_id, launcher_trace);
  EXPECT_EQ(trace.only("child").parent_id, trace.only("root").span_id);
  EXPECT_EQ(trace.only("child").flags, 0x101u);
}

// Contract: 5.launcher
TEST(LauncherSpan, LeavesExplicitParentsAndRootsAlone) {
  const auto environment = launched_environment();
  const SpanContext foreign{{{1}}, {{2}}, SpanContext::sampled};
  std::string root_trace;
  const RecordedTrace trace = record(
      [&] {
        {
          auto root = managed_span(SpanGroup::job, "root", {.root = true});
          root_trace = root.context().trace_id.hex();
          auto child = managed_span(SpanGroup::step, "child");
          EXPECT_EQ(child.context().trace_id.hex(), root_trace);
        }
        auto handle = start_span(SpanGroup::step, "handle", {.root = true});
        EXPECT_NE(handle.context().trace_id.hex(), launcher_trace);
        auto adopted = adopt_span(SpanGroup::step, "adopted", foreign);
        EXPECT_EQ(adopted.context().trace_id, foreign.trace_id);
      },
      take_from_environment);
  EXPECT_NE(root_trace, launcher_trace);
  EXPECT_EQ(trace.only("root").trace_id, root_trace);
  EXPECT_EQ(trace.only("root").parent_id, "");
  EXPECT_EQ(trace.only("child").trace_id, root_trace);
  EXPECT_EQ(trace.only("handle").parent_id, "");
  EXPECT_EQ(trace.only("adopted").trace_id, foreign.trace_id.hex());
}

// Contract: 5.launcher
TEST(LauncherSpan, IsReadOnlyByThePropagatorsThatAreNamed) {
  auto environment = launched_environment();
  const Config all = Config::from_env();
  EXPECT_EQ(all.started_in.context.trace_id.hex(), launcher_trace);
  EXPECT_EQ(all.started_in.tracestate, "vendor=1");
  EXPECT_EQ(all.started_in.baggage, (std::vector<BaggageMember>{{"team", "a b"}}));
  environment.set("OTEL_PROPAGATORS", "baggage");
  EXPECT_EQ(Config::from_env().started_in, (Propagation{{}, "", all.started_in.baggage}));
  environment.set("OTEL_PROPAGATORS", "none");
  EXPECT_EQ(Config::from_env().started_in, Propagation{});
  environment.set("OTEL_PROPAGATORS", "tracecontext");
  environment.set("TRACEPARENT", "00-nonsense");
  EXPECT_EQ(Config::from_env().started_in, Propagation{});
  EXPECT_TRUE(Config::from_env().warnings.empty());
}

// Contract: 5.w3c
TEST(Inject, SendsTheCurrentSpanWithTheLaunchersStateAndBaggage) {
  const auto environment = launched_environment();
  std::map<std::string, std::string> outside, inside, elsewhere;
  std::string span_id;
  record(
      [&] {
        inject(outside);
        auto span = managed_span(SpanGroup::job, "root");
        span_id = span.context().span_id.hex();
        inject(inside);
        auto other = managed_span(SpanGroup::job, "other", {.root = true});
        inject(elsewhere);
      },
      take_from_environment);
  EXPECT_EQ(outside["traceparent"], traceparent);
  EXPECT_EQ(inside["traceparent"], "00-" + launcher_trace + "-" + span_id + "-01");
  EXPECT_EQ(inside["tracestate"], "vendor=1");
  EXPECT_EQ(inside["baggage"], "team=a%20b");
  EXPECT_EQ(elsewhere.count("tracestate"), 0u);  // of another trace
  EXPECT_EQ(elsewhere["baggage"], "team=a%20b");
}

// Contract: 5.w3c
TEST(Inject, SendsOnWhatTheProcessWasStartedInWithTelemetryOff) {
  const auto environment = launched_environment();
  {
    auto telemetry = setup_telemetry(Config::from_env(), {});
    std::map<std::string, std::string> headers;
    inject(headers);
    EXPECT_EQ(headers["traceparent"], traceparent);
    EXPECT_EQ(headers["baggage"], "team=a%20b");
  }
  auto telemetry = setup_telemetry({}, {});
  EXPECT_EQ(current_propagation(), Propagation{});
}

}  // namespace
}  // namespace lens::tests
