// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>

#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

// Attributes of the one exception event; empty when the span has none.
Attributes exception_of(const RecordedSpan& span) {
  EXPECT_LE(span.events.size(), 1u) << span.name;
  if (span.events.empty()) return {};
  EXPECT_EQ(span.events[0].name, "exception");
  return span.events[0].attributes;
}

void expect_marked(const RecordedSpan& span, const std::string& type, const std::string& message) {
  const Attributes expected{{"exception.type", type}, {"exception.message", message}};
  EXPECT_EQ(exception_of(span), expected) << span.name;
  EXPECT_EQ(span.status, 2) << span.name;
  EXPECT_EQ(span.status_message, message);
}

void expect_unmarked(const RecordedSpan& span) {
  EXPECT_TRUE(span.events.empty()) << span.name;
  EXPECT_EQ(span.status, 0) << span.name;
}

struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Contract: 4.exception
TEST(ScopeLeftByAnException, IsMarkedWithTypeAndMessage) {
  const RecordedTrace trace = record([] {
    try {
      auto outer = managed_span(SpanGroup::job, "outer");
      auto inner = managed_span(SpanGroup::step, "inner");
      throw DataError("shard 3 is torn");
    } catch (const DataError&) {
    }
  });
  expect_marked(trace.only("inner"), "lens::tests::(anonymous namespace)::DataError", "shard 3 is torn");
  expect_marked(trace.only("outer"), "lens::tests::(anonymous namespace)::DataError", "shard 3 is torn");
}

TEST(ScopeLeftByAnException, IsMarkedWhateverIsThrown) {
  const RecordedTrace trace = record([] {
    try {
      auto span = managed_span(SpanGroup::step, "int");
      throw 7;
    } catch (int) {
    }
    try {
      auto span = managed_span(SpanGroup::step, "pointer");
      throw static_cast<const std::exception*>(nullptr);
    } catch (const std::exception*) {
    }
  });
  expect_marked(trace.only("int"), "int", "");
  expect_marked(trace.only("pointer"), "std::exception const*", "");
}

TEST(ScopeLeftByAnException, IsMarkedWhenItIsRethrown) {
  const RecordedTrace trace = record([] {
    try {
      auto outer = managed_span(SpanGroup::job, "rethrown");
      try {
        auto inner = managed_span(SpanGroup::step, "thrown");
        throw std::runtime_error("first");
      } catch (...) {
        throw;
      }
    } catch (const std::runtime_error&) {
    }
    const std::exception_ptr kept = std::make_exception_ptr(std::logic_error("kept"));
    try {
      auto span = managed_span(SpanGroup::step, "from pointer");
      std::rethrow_exception(kept);
    } catch (const std::logic_error&) {
    }
  });
  expect_marked(trace.only("thrown"), "std::runtime_error", "first");
  expect_marked(trace.only("rethrown"), "std::runtime_error", "first");
  expect_marked(trace.only("from pointer"), "std::logic_error", "kept");
}

TEST(ScopeLeftByAnException, IsMarkedWithTheNestedExceptionThatLeftIt) {
  const RecordedTrace trace = record([] {
    try {
      auto outer = managed_span(SpanGroup::job, "outer");
      try {
        auto inner = managed_span(SpanGroup::step, "inner");
        throw std::runtime_error("cause");
      } catch (...) {
        std::throw_with_nested(std::logic_error("consequence"));
      }
    } catch (const std::logic_error&) {
    }
  });
  expect_marked(trace.only("inner"), "std::runtime_error", "cause");
  EXPECT_EQ(std::get<std::string>(exception_of(trace.only("outer")).at("exception.message")), "consequence");
}

TEST(ScopeLeftByAnException, IsNotAScopeThatCaughtIt) {
  const RecordedTrace trace = record([] {
    auto catches = managed_span(SpanGroup::step, "catches");
    try {
      throw std::runtime_error("handled");
    } catch (const std::runtime_error&) {
      auto handler = managed_span(SpanGroup::step, "handler");
    }
  });
  expect_unmarked(trace.only("catches"));
  expect_unmarked(trace.only("handler"));
}

// Cleans up under a span of its own. Out of line: of two exceptions that one function will catch, nothing tells which
// of them is the younger.
struct Cleanup {
  [[gnu::noinline]] ~Cleanup() {
    auto cleanup = managed_span(SpanGroup::step, "cleanup");
    try {
      auto failing = managed_span(SpanGroup::step, "failing cleanup");
      throw std::logic_error("disk full");
    } catch (const std::logic_error&) {
    }
  }
};

TEST(ScopeLeftByAnException, IsNotAScopeOfADestructorThatUnwindingRuns) {
  const RecordedTrace trace = record([] {
    try {
      auto left = managed_span(SpanGroup::job, "left");
      Cleanup cleanup;
      throw std::runtime_error("outer failure");
    } catch (const std::runtime_error&) {
    }
  });
  expect_unmarked(trace.only("cleanup"));
  expect_marked(trace.only("failing cleanup"), "std::logic_error", "disk full");
  expect_marked(trace.only("left"), "std::runtime_error", "outer failure");
}

TEST(ScopeLeftByAnException, KeepsWhatTheProgramRecorded) {
  const RecordedTrace trace = record([] {
    try {
      auto span = managed_span(SpanGroup::step, "step", attribute("iteration", 5));
      span.add_event("before");
      throw std::runtime_error("after");
    } catch (const std::runtime_error&) {
    }
  });
  const RecordedSpan& span = trace.only("step");
  ASSERT_EQ(span.events.size(), 2u);
  EXPECT_EQ(span.events[0].name, "before");
  EXPECT_EQ(span.events[1].name, "exception");
  EXPECT_EQ(span.at<std::int64_t>("iteration"), 5);
}

[[gnu::noinline]] void throw_deeply(int depth) {
  volatile char frame[256] = {};
  if (depth == 0) throw std::runtime_error("deep" + std::string(1, static_cast<char>(frame[0] + '!')));
  throw_deeply(depth - 1);
  frame[0] = 1;
}

TEST(ScopeLeftByAnException, IsMarkedHoweverDeepItWasThrown) {
  const RecordedTrace trace = record([] {
    for (int depth : {0, 1, 10, 100}) {
      try {
        auto span = managed_span(SpanGroup::step, "depth " + std::to_string(depth));
        throw_deeply(depth);
      } catch (const std::runtime_error&) {
      }
    }
  });
  for (const RecordedSpan& span : trace.spans) expect_marked(span, "std::runtime_error", "deep!");
  EXPECT_EQ(trace.spans.size(), 4u);
}

}  // namespace
}  // namespace lens::tests
