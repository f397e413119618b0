// SPDX-License-Identifier: Apache-2.0
// The carriers that inject and extract take.
#include "src/record/propagation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <unordered_map>

namespace lens {
namespace {

const Propagation sent{{{{1, 2, 3}}, {{4, 5}}, SpanContext::sampled}, "vendor=1", {{"team", "a b"}}};
const std::string traceparent = "00-01020300000000000000000000000000-0405000000000000-01";

TEST(Inject, FillsAMap) {
  std::map<std::string, std::string> headers{{"traceparent", "stale"}, {"accept", "*/*"}};
  inject(headers, sent);
  const std::map<std::string, std::string> expected{
      {"accept", "*/*"}, {"baggage", "team=a%20b"}, {"traceparent", traceparent}, {"tracestate", "vendor=1"}};
  EXPECT_EQ(headers, expected);
  EXPECT_EQ(extract(headers), sent);
}

TEST(Inject, CallsASetterWithWhatThereIs) {
  std::string said;
  const auto set = [&](std::string_view name, const std::string& value) { said += std::string(name) + ": " + value; };
  inject(set, {sent.context, "", {}});
  EXPECT_EQ(said, "traceparent: " + traceparent);
  said.clear();
  inject(set, {});
  inject(set);  // nothing is open, and the process was started in nothing
  EXPECT_EQ(said, "");
}

TEST(Extract, FindsNamesInAnyCase) {
  const std::unordered_map<std::string, std::string> headers{
      {"TraceParent", traceparent}, {"TRACESTATE", "vendor=1"}, {"Baggage", "team=a%20b"}};
  EXPECT_EQ(extract(headers), sent);
}

TEST(Extract, JoinsHeadersOfOneNameInOrder) {
  std::vector<std::pair<std::string_view, std::string_view>> headers{
      {"tracestate", "b=2"}, {"traceparent", traceparent}, {"tracestate", ""},
      {"tracestate", "a=1"}, {"baggage", "x=1"},           {"baggage", "y=2"}};
  const Propagation received = extract(headers);
  EXPECT_EQ(received.context, sent.context);
  EXPECT_EQ(received.tracestate, "b=2,a=1");
  EXPECT_EQ(received.baggage, (std::vector<BaggageMember>{{"x", "1"}, {"y", "2"}}));
  headers.emplace_back("traceparent", traceparent);
  EXPECT_FALSE(extract(headers).context);
}

TEST(Extract, AsksAGetter) {
  EXPECT_EQ(extract([](std::string_view name) { return name == "traceparent" ? traceparent : std::string(); }).context,
            sent.context);
  const char* const text = traceparent.c_str();
  EXPECT_EQ(extract([&](const std::string& name) { return name == "traceparent" ? text : nullptr; }).context,
            sent.context);
}

TEST(Extract, KeepsWhatWasThereWhenNothingComes) {
  const std::map<std::string, std::string> none, broken{{"traceparent", "00-0-0-0"}, {"baggage", "="}};
  EXPECT_EQ(extract(none, sent), sent);
  EXPECT_EQ(extract(broken, sent), sent);
}

TEST(ProcessPropagation, SaysWhichHeadersAreReadAndWritten) {
  record::set_process_propagation({.trace_context = false, .baggage = true}, {});
  std::map<std::string, std::string> headers;
  inject(headers, sent);
  EXPECT_EQ(headers, (std::map<std::string, std::string>{{"baggage", "team=a%20b"}}));
  headers["traceparent"] = traceparent;
  EXPECT_FALSE(extract(headers).context);
  record::set_process_propagation({}, {});
  EXPECT_TRUE(extract(headers).context);
}

TEST(ProcessPropagation, IsSentOnWhereNoSpanIsOpen) {
  record::set_process_propagation({}, sent);
  EXPECT_EQ(current_propagation(), sent);
  std::map<std::string, std::string> headers;
  inject(headers);
  EXPECT_EQ(extract(headers), sent);
  record::set_process_propagation({}, {});
  EXPECT_EQ(current_propagation(), Propagation{});
}

}  // namespace
}  // namespace lens
