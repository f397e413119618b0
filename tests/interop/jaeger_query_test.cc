// SPDX-License-Identifier: Apache-2.0
// What people see of our spans in Jaeger, by the API of its page.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/interop/receiver.h"
#include "tests/interop/sample.h"

namespace lens::tests {
namespace {

nlohmann::json span_named(const nlohmann::json& trace, const std::string& name) {
  for (const auto& span : trace.at("spans"))
    if (span.at("operationName") == name) return span;
  ADD_FAILURE() << "no span " << name;
  return {};
}

TEST(Jaeger, ShowsLinksAndTruncatedMarks) {
  const auto program = find_peer("jaeger");
  if (!program) GTEST_SKIP() << "jaeger is not installed: scripts/interop-setup";
  Jaeger jaeger(*program);
  const Sample sample =
      record_sample(sending_config({OtlpProtocol::grpc, OtlpCompression::none}, jaeger.endpoint(OtlpProtocol::grpc)));
  ASSERT_EQ(sample.counters.spans_exported, sample.spans.size());
  const auto trace_of = [&](const std::string& name) {
    const std::string answer = jaeger.ask("/api/traces/" + sample.at(name).trace_id,
                                          [&](const std::string& text) { return text.find(name) != text.npos; });
    const auto json = nlohmann::json::parse(answer);
    return json.at("data").at(0);
  };

  const auto links = span_named(trace_of("links"), "links").at("references");
  ASSERT_EQ(links.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(links[i].at("refType"), "FOLLOWS_FROM");
    EXPECT_EQ(links[i].at("traceID"), sample.at("links").links[i].trace_id);
    EXPECT_EQ(links[i].at("spanID"), sample.at("links").links[i].span_id);
  }

  const auto truncated = span_named(trace_of("truncated"), "truncated");
  EXPECT_THAT(truncated.at("tags"),
              testing::Contains(nlohmann::json{{"key", "nemo.span.truncated"}, {"type", "bool"}, {"value", true}}));
  ASSERT_EQ(truncated.at("logs").size(), 1u);
  EXPECT_THAT(
      truncated.at("logs")[0].at("fields"),
      testing::Contains(nlohmann::json{{"key", "event"}, {"type", "string"}, {"value", "nemo.span.truncated"}}));
}

}  // namespace
}  // namespace lens::tests
