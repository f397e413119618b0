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
TEST(LauncherSpan, ThatIsNotSampledLeavesNoSpanButThoseOfExplicitRoots) {
  auto environment = launched_environment();
  environment.set("TRACEPARENT", ("00-" + launcher_trace + "-" + launcher_span + "-00").c_str());
  std::map<std::string, std::string> sent;
  std::vector<std::string> notices;
  const RecordedTrace trace = record(
      [&] {
        auto job = managed_span(SpanGroup::job, "job");
        auto step = managed_span(SpanGroup::step, "step");
        inject(sent);
        auto handle = start_span(SpanGroup::step, "handle");
        auto root = managed_span(SpanGroup::job, "root", {.root = true});
      },
      [&](Config& config) {
        take_from_environment(config);
        EXPECT_EQ(config.standard.traces_sampler, "parentbased_always_on");
        config.on_error = [&](std::string_view line) { notices.emplace_back(line); };
      });
  EXPECT_EQ(trace.names(), "root");
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_TRUE(notices[0].starts_with("the span that TRACEPARENT names is not sampled")) << notices[0];
  EXPECT_TRUE(sent["traceparent"].ends_with("-00")) << sent["traceparent"];
}

// Contract: 5.launcher, 2.propagators
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
  environment.set("OTEL_PROPAGATORS", "none");
  EXPECT_TRUE(Config::from_env().warnings.empty()) << "of what is not read";
}

// Contract: 5.launcher-malformed
TEST(LauncherSpan, ThatIsMalformedIsSaidOnceWithWhatComesOfIt) {
  auto environment = launched_environment();
  EXPECT_TRUE(Config::from_env().warnings.empty());
  environment.set("TRACEPARENT", ("00-" + launcher_trace + "-" + launcher_span + "-01-more").c_str());
  std::vector<std::string> notices;
  const RecordedTrace trace = record([] { auto root = managed_span(SpanGroup::job, "root"); },
                                     [&](Config& config) {
                                       config.warnings = Config::from_env().warnings;
                                       take_from_environment(config);
                                       config.on_error = [&](std::string_view line) { notices.emplace_back(line); };
                                     });
  EXPECT_EQ(notices, std::vector<std::string>{"TRACEPARENT is passed over, and TRACESTATE with it: it does not end "
                                              "behind the flags; spans begin traces of their own"});
  EXPECT_EQ(trace.only("root").parent_id, "");
}

// Contract: 5.launcher-malformed
TEST(LauncherSpan, OfALaterVersionWithMoreFieldsIsSound) {
  auto environment = launched_environment();
  environment.set("TRACEPARENT", ("cc-" + launcher_trace + "-" + launcher_span + "-01-more").c_str());
  const Config config = Config::from_env();
  EXPECT_EQ(config.started_in.context.trace_id.hex(), launcher_trace);
  EXPECT_TRUE(config.warnings.empty());
}

// Contract: 5.launcher-malformed
TEST(LauncherSpan, MalformedStateOrBaggageLeavesTheRest) {
  auto environment = launched_environment();
  environment.set("TRACESTATE", "vendor=1,Other=2");
  environment.set("BAGGAGE", "team=a%20b,secret");
  const Config config = Config::from_env();
  EXPECT_EQ(config.started_in.context.trace_id.hex(), launcher_trace);
  EXPECT_EQ(config.started_in.tracestate, "");
  EXPECT_EQ(config.started_in.baggage, (std::vector<BaggageMember>{{"team", "a b"}}));
  EXPECT_EQ(
      config.warnings,
      (std::vector<std::string>{
          "TRACESTATE is passed over, all of it: member 2 of it is not a key in lower case with a value behind "
          "=; TRACEPARENT is read",
          "BAGGAGE is not read as a whole: member 2 of it is not a key with a percent-encoded value behind =; what "
          "is sound of it is read"}));
  environment.unset("TRACEPARENT");
  EXPECT_EQ(Config::from_env().warnings[0], "TRACESTATE is passed over: there is no TRACEPARENT that it belongs to");
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

// Contract: 5.w3c, L4
TEST(Inject, SaysThatTraceIdsOfThisProcessAreRandom) {
  std::map<std::string, std::string> of_root, of_child;
  record([&] {
    auto root = managed_span(SpanGroup::job, "root");
    inject(of_root);
    auto child = managed_span(SpanGroup::step, "child");
    inject(of_child);
  });
  EXPECT_TRUE(of_root["traceparent"].ends_with("-03")) << of_root["traceparent"];
  EXPECT_TRUE(of_child["traceparent"].ends_with("-03")) << of_child["traceparent"];
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

// Contract: 5.tracestate
TEST(TraceState, OfTheLauncherGoesWithItsTraceAndWithLinksToIt) {
  const auto environment = launched_environment();
  const RecordedTrace trace = record(
      [&] {
        auto root = managed_span(SpanGroup::job, "root");
        auto child = managed_span(SpanGroup::step, "child");
        auto other = managed_span(SpanGroup::job, "other", {.root = true, .links = {child.context()}});
      },
      take_from_environment);
  EXPECT_EQ(trace.only("root").trace_state, "vendor=1");
  EXPECT_EQ(trace.only("child").trace_state, "vendor=1");
  EXPECT_EQ(trace.only("other").trace_state, "");
  ASSERT_EQ(trace.only("other").links.size(), 1u);
  EXPECT_EQ(trace.only("other").links[0].trace_state, "vendor=1");
}

// Contract: 5.tracestate
TEST(TraceState, OfARemoteParentGoesWithItsDescendantsAndOnToOthers) {
  const std::map<std::string, std::string> received{
      {"traceparent", "00-0123456789abcdef0123456789abcdef-00f067aa0ba902b7-01"}, {"tracestate", "one=1, two=2"}};
  std::map<std::string, std::string> sent;
  const RecordedTrace trace = record([&] {
    auto before = managed_span(SpanGroup::job, "before");
    auto serve = managed_span(SpanGroup::step, "serve", {.parent = extract(received).context});
    auto inner = managed_span(SpanGroup::step, "inner");
    inject(sent);
  });
  EXPECT_EQ(trace.only("serve").trace_state, "one=1,two=2");
  EXPECT_EQ(trace.only("inner").trace_state, "one=1,two=2");
  EXPECT_EQ(trace.only("before").trace_state, "");
  EXPECT_EQ(sent["tracestate"], "one=1,two=2");
}

}  // namespace
}  // namespace lens::tests
