// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <variant>

#include "lens/version.h"

namespace lens::tests {
namespace {

// Spans are compared as text, a line for each of their fields: what differs is seen in a line.

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(const std::string& value) { return '"' + value + '"'; }
std::string text_of(double value) {
  if (std::isnan(value)) return "nan";  // of either sign
  char digits[64];
  std::snprintf(digits, sizeof digits, "%a", value);  // every bit; told from an integer by its 0x
  return digits;
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text = "[";
  for (const auto& value : values) text += text_of(static_cast<const T&>(value)) + ", ";
  return text + "]";
}

std::string text_of(const Attributes& attributes, const std::string& key) {
  const auto attribute = attributes.find(key);
  if (attribute == attributes.end()) return text_of(key) + " is missing";
  return text_of(key) + " = " + std::visit([](const auto& value) { return text_of(value); }, attribute->second);
}

std::string lines_of(const Attributes& attributes, std::uint32_t dropped, const std::string& indent) {
  std::string lines;
  for (const auto& [key, value] : attributes) lines += indent + text_of(attributes, key) + '\n';
  return lines + indent + "attributes dropped: " + std::to_string(dropped) + '\n';
}

template <class T>
std::string line(const char* what, const T& value) {
  return std::string("  ") + what + ": " + text_of(value) + '\n';
}

std::string line(const char* what, std::uint64_t value) {
  return std::string("  ") + what + ": " + std::to_string(value) + '\n';
}

std::string text_of(const RecordedSpan& span) {
  std::string text = text_of(span.name) + '\n' + line("trace", span.trace_id) + line("span", span.span_id) +
                     line("parent", span.parent_id) + line("kind", std::int64_t{span.kind}) +
                     line("flags", std::uint64_t{span.flags}) + line("start", span.start_ns) +
                     line("end", span.end_ns) + line("status", std::int64_t{span.status}) +
                     line("status message", span.status_message) +
                     lines_of(span.attributes, span.dropped_attributes, "  ");
  for (const RecordedEvent& event : span.events)
    text += line("event", event.name) + line("  time", event.time_ns) +
            lines_of(event.attributes, event.dropped_attributes, "    ");
  for (const RecordedLink& link : span.links)
    text += line("link to", link.trace_id + ' ' + link.span_id) + line("  flags", std::uint64_t{link.flags}) +
            lines_of(link.attributes, link.dropped_attributes, "    ");
  return text + line("events dropped", std::uint64_t{span.dropped_events}) +
         line("links dropped", std::uint64_t{span.dropped_links});
}

/// Checks the times that the library took from its clock, and leaves them out.
RecordedSpan without_clock(RecordedSpan span, const Sample& sample, const RecordedSpan& expected) {
  const auto leave_out = [&](std::uint64_t& time_ns) {
    EXPECT_GE(time_ns, sample.began_ns) << span.name;
    EXPECT_LE(time_ns, sample.ended_ns) << span.name;
    time_ns = 0;
  };
  if (expected.end_ns == 0) leave_out(span.end_ns);
  for (RecordedEvent& event : span.events) leave_out(event.time_ns);
  return span;
}

std::string joined(const std::multiset<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

}  // namespace

void expect_received(const Sample& sample, const std::vector<RecordedRequest>& requests) {
  std::multiset<std::string> expected, received;
  for (const RecordedSpan& span : sample.spans) expected.insert(text_of(span));
  for (const RecordedRequest& request : requests) {
    EXPECT_EQ(request.scope_name, "lens");
    EXPECT_EQ(request.scope_version, version);
    for (const auto& [key, value] : sample.resource)
      EXPECT_EQ(text_of(request.resource, key), text_of(sample.resource, key));
    for (const RecordedSpan& span : request.spans) {
      const auto sent = std::ranges::find(sample.spans, span.span_id, &RecordedSpan::span_id);
      ASSERT_NE(sent, sample.spans.end()) << "was not sent: " << text_of(span);
      received.insert(text_of(without_clock(span, sample, *sent)));
    }
  }
  EXPECT_EQ(joined(received), joined(expected));
}

}  // namespace lens::tests
