// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/span_rates.h"

#include <gtest/gtest.h>

namespace lens::trace {
namespace {

using std::chrono::seconds;

class SpanRatesOfOne : public testing::Test {
 protected:
  double rate(std::uint64_t spans_recorded, seconds at) {
    std::vector<ProcessState> processes(1);
    processes[0].file = "rank0.ring";
    processes[0].spans_recorded = spans_recorded;
    rates.fill(processes, SpanRates::Time(at));
    return processes[0].spans_per_s;
  }

  SpanRates rates;
};

TEST_F(SpanRatesOfOne, needs_two_readings) {
  EXPECT_EQ(rate(1000, seconds(1)), 0);
  EXPECT_EQ(rate(1500, seconds(3)), 250);
  EXPECT_EQ(rate(1600, seconds(4)), 100);
}

TEST_F(SpanRatesOfOne, is_nothing_where_a_process_counts_from_the_beginning_again) {
  rate(1000, seconds(1));
  EXPECT_EQ(rate(10, seconds(2)), 0);
  EXPECT_EQ(rate(30, seconds(3)), 20);
}

}  // namespace
}  // namespace lens::trace
