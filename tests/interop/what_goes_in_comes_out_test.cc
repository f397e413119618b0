// SPDX-License-Identifier: Apache-2.0
// Through receivers by other hands: what goes in equals what comes out, field by field, by each way.
#include <gtest/gtest.h>

#include "tests/interop/comparison.h"
#include "tests/interop/receiver.h"

namespace lens::tests {
namespace {

class Receivers : public testing::TestWithParam<std::tuple<std::string, Way>> {};

TEST_P(Receivers, GiveWhatTheyTook) {
  const auto& [name, way] = GetParam();
  const auto program = find_peer(name);
  if (!program) GTEST_SKIP() << name << " is not installed: scripts/interop-setup";
  const auto receiver = start_receiver(name, *program);
  // Rotel's JSON knows no NaN, which that of protobuf has.
  const bool is_finite = name == "rotel" && way.protocol == OtlpProtocol::http_json;
  const Sample sample =
      record_sample(sending_config(way, receiver->endpoint(way.protocol)), is_finite ? Numbers::finite : Numbers::all);
  EXPECT_EQ(sample.counters.spans_exported, sample.spans.size());
  EXPECT_EQ(sample.counters.spans_dropped, 0u);
  expect_received(sample, receiver->received(sample.trace_ids(), sample.spans.size()));
}

std::vector<std::tuple<std::string, Way>> ways_to_receivers() {
  std::vector<std::tuple<std::string, Way>> ways;
  for (const char* receiver : {"otelcol", "jaeger", "rotel"})
    for (const Way& way : all_ways())
      if (receiver != std::string("rotel") || way.compression != OtlpCompression::zstd)  // which it does not know
        ways.emplace_back(receiver, way);
  return ways;
}

INSTANTIATE_TEST_SUITE_P(Real, Receivers, testing::ValuesIn(ways_to_receivers()), [](const auto& info) {
  return std::get<0>(info.param) + '_' + name_of(std::get<1>(info.param));
});

}  // namespace
}  // namespace lens::tests
