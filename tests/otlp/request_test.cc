// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/request.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "src/otlp/decode.h"
#include "tests/otlp/trace_message.h"

namespace lens::otlp {
namespace {

using testing::ElementsAre;
using namespace lens::tests;

std::string span(const std::string& name) {
  return bytes_field(2, message({bytes_field(1, trace_id), bytes_field(2, span_id), bytes_field(5, name)}));
}

std::string scope_spans(const std::string& scope, const std::vector<std::string>& names) {
  std::string spans;
  for (const std::string& name : names) spans += span(name);
  return bytes_field(2, message({bytes_field(1, bytes_field(1, scope)), spans, bytes_field(3, "schema")}));
}

std::string resource_spans(const std::string& service, const std::vector<std::string>& scopes) {
  std::string parts = bytes_field(1, bytes_field(1, text_attribute("service.name", service)));
  for (const std::string& scope : scopes) parts = scope + parts;  // the resource last, as some write it
  return bytes_field(1, parts);
}

/// "service/scope/span" for each span.
std::vector<std::string> content_of(std::string_view request) {
  struct Visitor : TraceVisitor {
    std::string service, scope;
    std::vector<std::string> names;
    void on_resource(Encoded attributes) override {
      service = std::string(find_attribute(attributes, "service.name")->bytes);
    }
    void on_scope(const Scope& given) override { scope = std::string(given.name); }
    void on_span(const Span& given) override { names.push_back(service + '/' + scope + '/' + std::string(given.name)); }
  };
  Visitor visitor;
  TraceDecoder().decode(request, visitor);
  return visitor.names;
}

/// Of all requests that splitting again and again makes.
std::vector<std::string> content_of_all_parts(const std::string& request) {
  const auto halves = halved(request);
  if (!halves) return content_of(request);
  EXPECT_EQ(halves->first_items, content_of(halves->first).size());
  EXPECT_EQ(halves->second_items, content_of(halves->second).size());
  auto first = content_of_all_parts(halves->first);
  const auto second = content_of_all_parts(halves->second);
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(RequestHalves, HalvesTheSpansOfOneScope) {
  const auto halves = halved(resource_spans("a", {scope_spans("s", {"one", "two", "three", "four"})}));
  ASSERT_TRUE(halves);
  EXPECT_THAT(content_of(halves->first), ElementsAre("a/s/one", "a/s/two"));
  EXPECT_THAT(content_of(halves->second), ElementsAre("a/s/three", "a/s/four"));
}

TEST(RequestHalves, LosesNothingOfSeveralResourcesAndScopes) {
  const std::string request = resource_spans("a", {scope_spans("s", {"one"}), scope_spans("t", {"two", "three"})}) +
                              resource_spans("b", {scope_spans("s", {"four", std::string(1000, 'x'), "six"})});
  EXPECT_EQ(item_count(request), 6u);
  auto whole = content_of(request), parts = content_of_all_parts(request);
  std::ranges::sort(whole);
  std::ranges::sort(parts);
  EXPECT_EQ(whole, parts);
}

TEST(RequestHalves, KeepTheOrderInWhichTheFirstItemsCanBeLeftOut) {
  const std::string request = resource_spans("a", {scope_spans("s", {"one"}), scope_spans("t", {"two", "three"})}) +
                              resource_spans("b", {scope_spans("s", {"four", std::string(1000, 'x'), "six"})});
  const auto whole = content_of(request);
  EXPECT_EQ(content_of_all_parts(request), whole);
  for (std::size_t count = 0; count < whole.size(); ++count)
    EXPECT_EQ(content_of(without_first(request, count)),
              std::vector(whole.begin() + static_cast<std::ptrdiff_t>(count), whole.end()));
  EXPECT_EQ(without_first(request, 6), "");
  EXPECT_EQ(without_first(request, 7), "");
  EXPECT_THROW(without_first(request.substr(0, request.size() - 3), 1), DecodeError);
}

TEST(RequestHalves, LeavesASpanWholeHoweverLargeItIs) {
  EXPECT_FALSE(halved(resource_spans("a", {scope_spans("s", {std::string(1 << 20, 'x')})})));
  EXPECT_FALSE(halved(""));
}

TEST(RequestHalves, TakesNoDamagedRequest) {
  std::string request = resource_spans("a", {scope_spans("s", {"one", "two"})});
  request.resize(request.size() - 3);
  EXPECT_FALSE(halved(request));
  EXPECT_THROW(item_count(request), DecodeError);
}

}  // namespace
}  // namespace lens::otlp
