// SPDX-License-Identifier: Apache-2.0
// What recovery makes of a span is what the process would have exported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/flow/recorded_logs.h"
#include "tests/kill/child.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
namespace mg = lens::megatron;

constexpr std::chrono::seconds in_time{30};

/// Ends the process, or its telemetry, where it is called.
using Leave = std::function<void()>;

struct Left {
  RecordedTrace trace;
  std::vector<nlohmann::json> logs;
};

/// What a process leaves that records and then leaves in order, or is killed and recovered.
Left left_of(bool in_order, const std::function<void(Config&)>& change, const std::function<void(const Leave&)>& body) {
  const RunPlace place;
  Config config = place.config();
  config.logs_enabled = true;
  config.standard.span_batch.schedule_delay = config.standard.log_batch.schedule_delay = std::chrono::hours(1);
  change(config);
  Child child([&] {
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    body([&] {
      if (!in_order) raise(SIGKILL);
      telemetry.shutdown(in_time);
    });
  });
  EXPECT_EQ(child.wait(), in_order ? 0 : SIGKILL);
  EXPECT_EQ(place.recover().size(), in_order ? 0u : 1u);
  return {place.trace(), read_logs(place.traces()).records};
}

/// All of a span but the ids, the times and why it was cut short.
std::string content_of(const RecordedSpan& span) {
  std::string text = span.name + " of '" + span.trace_state + "' with flags " + std::to_string(span.flags);
  const auto add = [&text](const Attributes& attributes, std::uint32_t dropped) {
    for (const auto& [key, value] : attributes)
      if (key != "reason") text += ", " + key + "=" + testing::PrintToString(value);
    text += ", " + std::to_string(dropped) + " dropped";
  };
  add(span.attributes, span.dropped_attributes);
  for (const RecordedEvent& event : span.events) {
    text += "; event " + event.name;
    add(event.attributes, event.dropped_attributes);
  }
  for (const RecordedLink& link : span.links) {
    text += "; link to '" + link.trace_state + "'";
    add(link.attributes, link.dropped_attributes);
  }
  return text + "; " + std::to_string(span.dropped_events) + ", " + std::to_string(span.dropped_links) + " dropped";
}

std::map<std::string, std::string> contents_of(const RecordedTrace& trace) {
  std::map<std::string, std::string> by_name;
  for (const RecordedSpan& span : trace.spans) by_name[span.name] = content_of(span);
  EXPECT_EQ(by_name.size(), trace.spans.size());
  return by_name;
}

SpanContext receive(const std::string& trace_id, const std::string& state) {
  const std::map<std::string, std::string> headers{{"traceparent", "00-" + trace_id + "-00f067aa0ba902b7-01"},
                                                   {"tracestate", state}};
  return extract(headers).context;
}

SpanContext receive(int number) {
  return receive("0123456789abcdef" + std::to_string(1'000'000'000'000'000 + number),
                 "one=" + std::to_string(number) + ",two=2");
}

void fill(auto& span) {
  span.set("a"_a = "a long text", "b"_a = 2, "c"_a = 3, "d"_a = 4);
  for (int i = 0; i < 5; ++i) span.add_event("event", "x"_a = i, "y"_a = "a long text");
  for (int i = 0; i < 4; ++i) span.add_link(receive(i));
}

// Contract: 3.sigkill-same
TEST(RecoveredSpans, HaveTheLimitsAndTheTraceStatesOfExportedOnes) {
  const auto change = [](Config& config) {
    config.started_in = {{{{1, 2, 3}}, {{4, 5, 6}}, SpanContext::sampled}, "launcher=1", {}};
    config.standard.span_limits = {.attributes = 3, .events = 2, .links = 2, .event_attributes = 1, .value_length = 5};
    config.standard.log_limits = {.attributes = 1, .value_length = 3};
  };
  const auto body = [](const Leave& leave) {
    auto job = managed_span(SpanGroup::job, "job");
    fill(job);
    auto serve = managed_span(SpanGroup::step, "serve", {.parent = receive(7)});
    auto handle = start_span(SpanGroup::step, "handle", {.root = true});
    fill(handle);
    graceful_drain(in_time);  // what is open stands in the lists
    fill(serve);
    {
      auto ended = managed_span(SpanGroup::step, "ended", {.links = {job.context(), job.context(), job.context()}});
      fill(ended);
    }
    auto late = start_span(SpanGroup::step, "late");
    fill(late);
    log(Severity::warn, "said", "a"_a = "text", "b"_a = 1);
    leave();
  };
  const Left exported = left_of(true, change, body), recovered = left_of(false, change, body);
  EXPECT_EQ(contents_of(recovered.trace), contents_of(exported.trace));
  EXPECT_EQ(exported.trace.spans.size(), 5u);
  EXPECT_EQ(exported.trace.only("serve").trace_state, "one=7,two=2");
  EXPECT_EQ(exported.trace.only("job").trace_state, "launcher=1");
  EXPECT_EQ(exported.trace.only("job").dropped_links, 2u);
  ASSERT_EQ(exported.logs.size(), 1u);
  ASSERT_EQ(recovered.logs.size(), 1u);
  for (const char* part : {"attributes", "droppedAttributesCount"})
    EXPECT_EQ(recovered.logs[0][part], exported.logs[0][part]);
}

// Contract: 3.sigkill-same
TEST(RecoveredSpans, HaveAsManyEventsAsTheLimitAllows) {
  constexpr int events = 2000;
  const auto change = [](Config& config) { config.standard.span_limits.events = events; };
  const Left recovered = left_of(false, change, [](const Leave& leave) {
    auto job = managed_span(SpanGroup::job, "job");
    for (int i = 0; i < events; ++i) {
      job.add_event("event", "i"_a = i);
      if (i == events / 2) graceful_drain(in_time);
    }
    leave();
  });
  EXPECT_EQ(recovered.trace.only("job").dropped_events, 0u);
  EXPECT_EQ(recovered.trace.only("job").events.size(), events + 1u);  // and the one that marks it truncated
}

// Contract: 3.sigkill-same
TEST(RecoveredSpans, AreThoseThatTheSamplersKeep) {
  for (const char* sampler : {"traceidratio", "parentbased_traceidratio"}) {
    SCOPED_TRACE(sampler);
    const Shared<int> kept;
    const auto change = [sampler](Config& config) {
      config.standard.traces_sampler = sampler;
      config.standard.traces_sampler_ratio = 0.5;
      config.sample_every_n_steps = 2;
    };
    const Left recovered = left_of(false, change, [&](const Leave& leave) {
      for (int i = 0; i < 200; ++i) {
        auto job = managed_span(SpanGroup::job, "job", {.root = true});
        auto step = managed_span(mg::SpanGroup::step, mg::train_step, mg::iteration = i);
        auto inner = managed_span(SpanGroup::step, "inner");
        for (const SpanContext& context : {job.context(), step.context(), inner.context()})
          *kept += (context.flags & SpanContext::sampled) != 0;
      }
      leave();
    });
    EXPECT_GT(*kept, 50);
    EXPECT_LT(*kept, 500);
    EXPECT_EQ(int(recovered.trace.spans.size()), *kept);
  }
}

// Contract: 3.sigkill-same
TEST(RecoveredSpans, HaveTheTraceStatesOfTheLast256Traces) {
  constexpr int traces = 400, kept = 256;
  const Left recovered = left_of(
      false, [](Config&) {},
      [](const Leave& leave) {
        for (int i = 0; i < traces; ++i) receive(i);
        auto newest = managed_span(SpanGroup::step, "newest", {.parent = receive(traces - 1)});
        auto oldest = managed_span(SpanGroup::step, "oldest", {.parent = receive(traces - kept + 2)});
        auto too_old = managed_span(SpanGroup::step, "too old", {.parent = receive(traces - kept + 1)});
        receive(std::string(32, 'a'), "first=1");
        auto changed = managed_span(SpanGroup::step, "changed", {.parent = receive(std::string(32, 'a'), "second=2")});
        leave();
      });
  EXPECT_EQ(recovered.trace.only("newest").trace_state, "one=399,two=2");
  EXPECT_EQ(recovered.trace.only("oldest").trace_state, "one=146,two=2");
  EXPECT_EQ(recovered.trace.only("too old").trace_state, "");
  EXPECT_EQ(recovered.trace.only("changed").trace_state, "second=2");
}

}  // namespace
}  // namespace lens::tests
