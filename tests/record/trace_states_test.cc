// SPDX-License-Identifier: Apache-2.0
#include "src/record/trace_states.h"

#include <gtest/gtest.h>

namespace lens::record {
namespace {

TraceId trace(std::uint8_t number) {
  TraceId id;
  id.bytes[0] = 1;
  id.bytes[15] = number;
  return id;
}

TEST(TraceStates, AreThoseOfTheLast256Traces) {
  remember_trace_state({{9}}, "first=1");
  EXPECT_EQ(trace_state_of({{9}}), "first=1");
  for (int number = 0; number < 256; ++number)
    remember_trace_state(trace(std::uint8_t(number)), "n=" + std::to_string(number));
  EXPECT_EQ(trace_state_of({{9}}), "");
  for (int number = 0; number < 256; ++number)
    EXPECT_EQ(trace_state_of(trace(std::uint8_t(number))), "n=" + std::to_string(number));
}

TEST(TraceStates, AreReplacedByWhatComesLaterButNotByNothing) {
  remember_trace_state(trace(1), "a=1");
  remember_trace_state(trace(1), "");
  remember_trace_state(trace(1), "not=well=formed,=");
  EXPECT_EQ(trace_state_of(trace(1)), "a=1");
  remember_trace_state(trace(1), "a=2");
  EXPECT_EQ(trace_state_of(trace(1)), "a=2");
  EXPECT_EQ(trace_state_of({}), "");
}

TEST(TraceStates, HoldNoMoreThanAHeaderMustHaveRoomFor) {
  std::string state;
  for (int member = 0; member < 20; ++member)
    state += (member ? ",m" : "m") + std::to_string(member) + "=" + std::string(90, 'x');
  remember_trace_state(trace(2), state);
  EXPECT_LE(trace_state_of(trace(2)).size(), 512u);
  EXPECT_TRUE(trace_state_of(trace(2)).starts_with("m0=xxx"));
}

}  // namespace
}  // namespace lens::record
