// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
namespace mg = lens::megatron;

RecordedTrace record_every(int n, const std::function<void()>& body, const std::string& sampler = "always_on") {
  return record(body, [&](Config& config) {
    config.sample_every_n_steps = n;
    config.standard.traces_sampler = sampler;
  });
}

void train(int iterations) {
  auto job = managed_span(SpanGroup::job, "job");
  for (int iteration = 1; iteration <= iterations; ++iteration) {
    {
      auto step = managed_span(mg::SpanGroup::step, mg::train_step, mg::iteration = iteration);
      auto forward = managed_span(SpanGroup::forward_backward, "forward");
      std::thread(with_current_context([] {
        auto recompute = managed_span(SpanGroup::forward_backward, "recompute");
      })).join();
    }
    auto save = managed_span(SpanGroup::checkpoint, "save", mg::iteration = iteration);
  }
}

// Contract: 2.every-n-steps
TEST(EveryNthStep, IsKeptWholeAndWhatIsOutsideOfStepsAlways) {
  for (const char* sampler : {"always_on", "parentbased_always_on"}) {
    const RecordedTrace trace = record_every(
        3, [] { train(10); }, sampler);
    std::set<std::int64_t> iterations;
    for (const RecordedSpan& span : trace.spans)
      if (span.name == "megatron.train_step") iterations.insert(span.at<std::int64_t>("megatron.iteration"));
    EXPECT_EQ(iterations, (std::set<std::int64_t>{3, 6, 9}));
    EXPECT_EQ(trace.count("forward"), 3u);
    EXPECT_EQ(trace.count("recompute"), 3u);
    EXPECT_EQ(trace.count("save"), 10u);
    EXPECT_EQ(trace.count("job"), 1u);
    EXPECT_EQ(trace.counters->spans_sampled_out, 7u * 3);
    EXPECT_EQ(trace.counters->spans_dropped, 0u);
  }
}

TEST(EveryNthStep, OfOneIsEveryStep) {
  EXPECT_EQ(record_every(1, [] { train(10); }).count("megatron.train_step"), 10u);
}

// Contract: 2.every-n-steps
TEST(EveryNthStep, ReadsANumberThatACallableGives) {
  const RecordedTrace trace = record_every(2, [] {
    for (const int iteration : {2, 4, 5}) {
      const auto number = [&] { return std::int64_t{iteration}; };
      { auto step = managed_span(SpanGroup::step, "step", "iteration"_a = number); }
      { auto typed = managed_span(SpanGroup::step, "typed", SpanOptions{}, mg::iteration = number); }
      auto handle = start_span(SpanGroup::step, "handle", {}, "iteration"_a = number);
    }
  });
  EXPECT_EQ(trace.names(), "handle handle step step typed typed");
}

// Contract: 2.sampled-out, C20
TEST(EveryNthStep, TellsInItsContextWhetherItIsKept) {
  record_every(2, [] {
    auto job = managed_span(SpanGroup::job, "job");
    for (int iteration = 1; iteration <= 4; ++iteration) {
      const std::uint8_t flags = iteration % 2 == 0 ? 3 : 2;
      auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
      auto inner = managed_span(SpanGroup::optimizer, "inner");
      EXPECT_EQ(step.context().flags, flags);
      EXPECT_EQ(inner.context().flags, flags);
      EXPECT_EQ(current_context(), inner.context());
      EXPECT_EQ(step.context().trace_id, job.context().trace_id);
      EXPECT_EQ(job.context().flags, 3);
    }
    EXPECT_EQ(current_context(), job.context());
  });
}

// Contract: 2.every-n-steps
TEST(EveryNthStep, WithoutANumberIsCounted) {
  const RecordedTrace trace = record_every(4, [] {
    for (int i = 1; i <= 9; ++i) {
      auto step = managed_span(SpanGroup::step, "step", "index"_a = i);
    }
  });
  ASSERT_EQ(trace.count("step"), 2u);
  EXPECT_EQ(trace.spans[0].at<std::int64_t>("index"), 4);
  EXPECT_EQ(trace.spans[1].at<std::int64_t>("index"), 8);
}

// Contract: 2.every-n-steps
TEST(EveryNthStep, IsKeptWholeWithTheSpansOfItsGroupOnOtherThreads) {
  const RecordedTrace trace = record_every(3, [] {
    for (int iteration = 1; iteration <= 6; ++iteration) {
      auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
      const SpanContext context = step.context();
      std::thread(with_current_context([] {
        auto worker = managed_span(SpanGroup::step, "worker");
        auto below = managed_span(SpanGroup::optimizer, "below");
        auto handle = start_span(SpanGroup::step, "handle");
      })).join();
      std::thread([&] {
        auto child = managed_span(SpanGroup::step, "child", {.parent = context});
        auto handle = start_span(SpanGroup::step, "handle of parent", {.parent = context});
      }).join();
    }
  });
  EXPECT_EQ(trace.names(),
            "below below child child handle handle handle of parent handle of parent step step worker worker");
}

// Contract: 2.every-n-steps
TEST(EveryNthStep, WithoutANumberIsCountedOnAThreadThatWasGivenAContextOnceItHasARootOfItsOwn) {
  const RecordedTrace trace = record_every(2, [] {
    auto job = managed_span(SpanGroup::job, "job");
    std::thread(with_current_context([] {
      auto root = managed_span(SpanGroup::job, "root", {.root = true});
      for (int i = 0; i < 4; ++i) auto step = managed_span(SpanGroup::step, "step");
    })).join();
  });
  EXPECT_EQ(trace.names(), "job root step step");
}

TEST(EveryNthStep, HoldsForWhateverKindOfSpanTheStepIs) {
  const RecordedTrace trace = record_every(2, [] {
    for (int iteration = 1; iteration <= 4; ++iteration) {
      auto step = start_span(SpanGroup::step, "handle", {}, "iteration"_a = iteration);
      EXPECT_EQ(step.context().flags, iteration % 2 == 0 ? 3 : 2);
      auto active = step.activate();
      auto inner = managed_span(SpanGroup::optimizer, "in handle");
    }
    for (int iteration = 1; iteration <= 4; ++iteration) {
      auto step = managed_span(SpanGroup::step, "root", {.root = true}, "iteration"_a = iteration);
      auto inner = managed_span(SpanGroup::optimizer, "in root");
    }
    for (int iteration = 1; iteration <= 4; ++iteration)
      record_span(SpanGroup::step, "past", SystemTime{}, SystemTime{}, "iteration"_a = iteration);
  });
  EXPECT_EQ(trace.names(), "handle handle in handle in handle in root in root past past root root");
}

TEST(EveryNthStep, IsDecidedByTheOutermostStep) {
  const RecordedTrace trace = record_every(2, [] {
    for (int iteration = 1; iteration <= 2; ++iteration) {
      auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
      auto nested = managed_span(SpanGroup::step, "nested", "other.iteration"_a = iteration + 1);
      auto unnumbered = managed_span(SpanGroup::step, "unnumbered");
      auto handle = start_span(SpanGroup::step, "handle");
    }
  });
  EXPECT_EQ(trace.names(), "handle nested step unnumbered");
}

TEST(EveryNthStep, IsLeftByAnExceptionLikeAnyOther) {
  const RecordedTrace trace = record_every(2, [] {
    for (int iteration = 1; iteration <= 4; ++iteration) {
      try {
        auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
        auto inner = managed_span(SpanGroup::optimizer, "inner");
        throw std::runtime_error("loss is not finite");
      } catch (const std::runtime_error&) {
      }
      auto after = managed_span(SpanGroup::evaluate, "after");
      EXPECT_EQ(after.context().flags, 3);
    }
  });
  EXPECT_EQ(trace.names(), "after after after after inner inner step step");
  for (const RecordedSpan& span : trace.spans) EXPECT_EQ(span.events.size(), span.name == "after" ? 0u : 1u);
}

TEST(EveryNthStep, HoldsAfterGroupsWereChangedAtRunTime) {
  const RecordedTrace trace = record_every(2, [] {
    set_enabled_span_groups({});
    set_enabled_span_groups(SpanGroup::resolve("step"));
    for (int iteration = 1; iteration <= 4; ++iteration)
      auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
  });
  EXPECT_EQ(trace.count("step"), 2u);
}

// Contract: 2.every-n-steps
TEST(EveryNthStep, AndARatioMustBothSayYes) {
  const RecordedTrace trace = record(
      [] {
        for (int iteration = 1; iteration <= 200; ++iteration)
          auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
      },
      [](Config& config) {
        config.sample_every_n_steps = 2;
        config.standard.traces_sampler = "traceidratio";
        config.standard.traces_sampler_ratio = 0.5;
      });
  EXPECT_GT(trace.count("step"), 20u);
  EXPECT_LT(trace.count("step"), 80u);
  for (const RecordedSpan& span : trace.spans) EXPECT_EQ(span.at<std::int64_t>("iteration") % 2, 0);
}

}  // namespace
}  // namespace lens::tests
