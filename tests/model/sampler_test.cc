// SPDX-License-Identifier: Apache-2.0
#include "src/model/sampler.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lens::model {
namespace {

constexpr int trace_count = 100'000;

TraceSampler of_ratio(double ratio) { return {TraceSampler::threshold_of(ratio), false}; }

std::vector<TraceWords> random_traces() {
  std::mt19937_64 random(7);
  std::vector<TraceWords> traces;
  for (int i = 0; i < trace_count; ++i) traces.push_back({random(), random()});
  return traces;
}

TEST(TraceSampler, KeepsTheShareThatItIsToldTo) {
  const std::vector<TraceWords> traces = random_traces();
  for (const double ratio : {0.0, 0.01, 0.25, 0.5, 1.0}) {
    int kept = 0;
    for (const TraceWords trace : traces) kept += of_ratio(ratio).keeps(trace);
    const bool is_exact = ratio == 0.0 || ratio == 1.0;
    EXPECT_NEAR(kept, ratio * trace_count, is_exact ? 0 : 600) << ratio;
  }
}

// Contract: 2.trace-sampler
TEST(TraceSampler, AHigherRatioKeepsWhatALowerOneDoes) {
  for (const TraceWords trace : random_traces()) {
    bool kept = false;
    for (const double ratio : {0.001, 0.1, 0.5, 0.9, 1.0}) {
      EXPECT_LE(kept, of_ratio(ratio).keeps(trace));
      kept = of_ratio(ratio).keeps(trace);
    }
  }
}

TEST(TraceSampler, LooksAtTheLast56BitsOfTheTraceId) {
  TraceId id;
  id.bytes.fill(0xff);
  const auto words = [&] { return __builtin_bit_cast(TraceWords, id); };
  EXPECT_TRUE(of_ratio(0.5).keeps(words()));
  id.bytes[9] = 0x7f;
  EXPECT_FALSE(of_ratio(0.5).keeps(words()));
  id.bytes[9] = 0x80;
  id.bytes[8] = 0;
  EXPECT_TRUE(of_ratio(0.5).keeps(words()));
}

TEST(TraceSampler, FollowsAParentOnlyWhenItIsToldTo) {
  const TraceWords trace{1, 2};
  const TraceSampler following{TraceSampler::threshold_of(1), true}, always_on{TraceSampler::threshold_of(1), false},
      always_off{TraceSampler::threshold_of(0), false};
  EXPECT_EQ(following.flags_under(2, trace, false), 2);
  EXPECT_EQ(following.flags_under(3, trace, false), 3);
  EXPECT_EQ(always_on.flags_under(0, trace, false), 1);
  EXPECT_EQ(always_off.flags_under(3, trace, false), 2);
}

TEST(TraceSampler, AParentOfThisProcessAlwaysBinds) {
  const TraceSampler always_on{TraceSampler::threshold_of(1), false};
  EXPECT_EQ(always_on.flags_under(2, {1, 2}, true), 2);
}

TEST(SpanIds, TellThePositionThatTheyWereMadeFrom) {
  const IdentityKeys keys{0x0123456789abcdef, 1, 2};
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t position = random();
    EXPECT_EQ(position_of(span_word(position, keys), keys), position);
  }
}

}  // namespace
}  // namespace lens::model
