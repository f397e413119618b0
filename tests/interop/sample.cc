// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/sample.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "lens/lens.h"
#include "tests/support/foreign_context.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
using namespace std::chrono_literals;
using std::numeric_limits;

// Flags of a span beside those of its context: whether its parent is known to be remote, and that it is.
constexpr std::uint32_t remoteness_known = 0x100, remote = 0x200;
constexpr std::uint64_t begin_ns = 1'700'000'000'123'456'789, end_ns = begin_ns + 987'654'321;

SystemTime time_of(std::uint64_t ns) { return SystemTime(std::chrono::nanoseconds(ns)); }

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

const std::string nasty_text = std::string("\"quoted\" \\ \n\t\0 \x7f <&>", 20) + " \u2028 é 漢 🚂";

RecordedLink link_to(const SpanContext& context) {
  RecordedLink link;
  link.trace_id = context.trace_id.hex();
  link.span_id = context.span_id.hex();
  link.flags = context.flags;
  return link;
}

/// What any receiver must find of a span that began and ended by hand.
template <class Span>
RecordedSpan seen(const Span& span, const std::string& name, const SpanContext& parent = {}) {
  const SpanContext context = span.context();
  RecordedSpan recorded;
  recorded.trace_id = context.trace_id.hex();
  recorded.span_id = context.span_id.hex();
  recorded.flags = context.flags;
  if (parent) {
    recorded.parent_id = parent.span_id.hex();
    recorded.flags |= remoteness_known;
  }
  recorded.name = name;
  recorded.kind = static_cast<int>(SpanKind::internal);
  recorded.start_ns = begin_ns;
  recorded.end_ns = end_ns;
  return recorded;
}

SpanOptions begun_by_hand(SpanKind kind = SpanKind::internal) {
  SpanOptions options;
  options.kind = kind;
  options.start = time_of(begin_ns);
  return options;
}

void set_all(SpanHandle& span, const Attributes& attributes) {
  const auto set = [&](const std::string& key, const auto& value) { span.set(lens::attribute(key, value)); };
  for (const auto& [key, value] : attributes)
    std::visit(
        [&, &key = key]<class T>(const T& given) {
          if constexpr (std::is_same_v<T, std::vector<bool>>)  // lies in memory as no array does
            set(key, std::array<bool, 2>{given.at(0), given.at(1)});
          else
            set(key, given);
        },
        value);
}

void record_attributes(Sample& sample, const std::string& name, const Attributes& attributes) {
  auto span = start_span(SpanGroup::step, name, begun_by_hand());
  set_all(span, attributes);
  RecordedSpan expected = seen(span, name);
  expected.attributes = attributes;
  sample.spans.push_back(expected);
  span.end(time_of(end_ns));
}

using Integers = numeric_limits<std::int64_t>;
using Doubles = numeric_limits<double>;

const Attributes all_types{{"true", true},
                           {"false", false},
                           {"zero", std::int64_t{0}},
                           {"least", Integers::min()},
                           {"most", Integers::max()},
                           {"beyond doubles", std::int64_t{9'007'199'254'740'993}},
                           {"tenth", 0.1},
                           {"whole", 100.0},
                           {"tiny", Doubles::denorm_min()},
                           {"huge", Doubles::max()},
                           {"string", nasty_text},
                           {"empty", std::string()},
                           {nasty_text, std::int64_t{1}},
                           {"bools", std::vector<bool>{true, false}},
                           {"integers", std::vector<std::int64_t>{Integers::min(), 0, Integers::max()}},
                           {"doubles", std::vector<double>{0.25, -1e300}},
                           {"strings", std::vector<std::string>{"", "one", nasty_text}},
                           {"none", std::vector<std::int64_t>{}}};
const Attributes no_numbers{{"nan", Doubles::quiet_NaN()},
                            {"up", Doubles::infinity()},
                            {"down", -Doubles::infinity()},
                            {"array", std::vector<double>{1, Doubles::quiet_NaN(), Doubles::infinity()}}};

void record_kinds_and_statuses(Sample& sample, const SpanContext& parent) {
  for (const SpanKind kind :
       {SpanKind::internal, SpanKind::server, SpanKind::client, SpanKind::producer, SpanKind::consumer}) {
    const std::string name = "kind " + std::to_string(static_cast<int>(kind));
    SpanOptions options = begun_by_hand(kind);
    options.parent = parent;
    auto span = start_span(SpanGroup::step, name, options);
    RecordedSpan expected = seen(span, name, parent);
    expected.flags |= remote;  // an explicit parent may be anywhere
    expected.kind = static_cast<int>(kind);
    sample.spans.push_back(expected);
    span.end(time_of(end_ns));
  }
  for (const StatusCode code : {StatusCode::unset, StatusCode::ok, StatusCode::error}) {
    const std::string name = "status " + std::to_string(static_cast<int>(code));
    auto span = start_span(SpanGroup::step, name, begun_by_hand());
    span.set_status(code, nasty_text);
    RecordedSpan expected = seen(span, name);
    expected.status = static_cast<int>(code);
    if (code == StatusCode::error) expected.status_message = nasty_text;
    sample.spans.push_back(expected);
    span.end(time_of(end_ns));
  }
}

void record_events(Sample& sample) {
  auto span = start_span(SpanGroup::step, nasty_text, begun_by_hand());
  span.add_event("empty");
  span.add_event("full", "tenth"_a = 0.1, "strings"_a = std::vector<std::string>{"a", nasty_text}, "beyond"_a = 1);
  span.add_event(nasty_text, lens::attribute(nasty_text, nasty_text));
  for (int i = 0; i < 4; ++i) span.add_event("beyond");
  RecordedSpan expected = seen(span, nasty_text);
  expected.events.resize(3);
  expected.events[0].name = "empty";
  expected.events[1].name = "full";
  expected.events[1].attributes = {{"tenth", 0.1}, {"strings", std::vector<std::string>{"a", nasty_text}}};
  expected.events[1].dropped_attributes = 1;
  expected.events[2].name = nasty_text;
  expected.events[2].attributes = {{nasty_text, nasty_text}};
  expected.dropped_events = 4;
  sample.spans.push_back(expected);
  span.end(time_of(end_ns));
}

void record_links(Sample& sample, const SpanContext& other) {
  auto span = start_span(SpanGroup::step, "links", begun_by_hand());
  for (int i = 0; i < 7; ++i) span.add_link(i == 1 ? other : foreign_context());
  for (int i = 0; i < 40; ++i) span.set(lens::attribute("attribute " + std::to_string(i), i));
  RecordedSpan expected = seen(span, "links");
  expected.links = {link_to(foreign_context()), link_to(other)};
  expected.dropped_links = 5;
  for (int i = 0; i < 32; ++i) expected.attributes["attribute " + std::to_string(i)] = std::int64_t{i};
  expected.dropped_attributes = 8;
  sample.spans.push_back(expected);
  span.end(time_of(end_ns));
}

void record_exception(Sample& sample) {
  try {
    auto span = managed_span(SpanGroup::step, "exception", begun_by_hand());
    RecordedSpan expected = seen(span, "exception");
    expected.end_ns = 0;
    expected.status = static_cast<int>(StatusCode::error);
    expected.status_message = "out of memory";
    expected.events.resize(1);
    expected.events[0].name = "exception";
    expected.events[0].attributes = {{"exception.type", std::string("std::runtime_error")},
                                     {"exception.message", std::string("out of memory")}};
    sample.spans.push_back(expected);
    throw std::runtime_error("out of memory");
  } catch (const std::runtime_error&) {
  }
}

/// A span that shutdown will end.
void expect_truncated(Sample& sample, const SpanHandle& span) {
  RecordedSpan expected = seen(span, "truncated");
  expected.end_ns = 0;
  expected.attributes = {{"nemo.span.truncated", true}};
  expected.events.resize(1);
  expected.events[0].name = "nemo.span.truncated";
  expected.events[0].attributes = {{"reason", std::string("telemetry was shut down while the span was open")}};
  sample.spans.push_back(expected);
}

}  // namespace

std::set<std::string> Sample::trace_ids() const {
  std::set<std::string> ids;
  for (const RecordedSpan& span : spans) ids.insert(span.trace_id);
  return ids;
}

const RecordedSpan& Sample::at(const std::string& name) const {
  for (const RecordedSpan& span : spans)
    if (span.name == name) return span;
  throw std::out_of_range(name);
}

Config sending_config(const Way& way, const std::string& endpoint) {
  Config config;
  config.enabled = true;
  config.exporter = "otlp";
  config.metrics_enabled = false;  // not every peer takes them
  config.standard.otlp_traces.endpoint = endpoint;
  config.standard.otlp_traces.protocol = way.protocol;
  config.standard.otlp_traces.compression = way.compression;
  config.export_strategy = "all_ranks";
  config.span_groups = "per_step";
  config.spool_size_bytes = 0;
  config.shm_dir = "";
  config.run_id = "interop";
  config.shutdown_timeout = 30s;
  config.on_error = [](std::string_view line) { ADD_FAILURE() << "background failure: " << line; };
  return config;
}

Sample record_sample(const Config& given, Numbers numbers) {
  Config config = given;
  config.service_name = "interop " + nasty_text;
  config.standard.span_limits.attributes = 32;
  config.standard.span_limits.events = 3;
  config.standard.span_limits.links = 2;
  config.standard.span_limits.event_attributes = 2;
  const ResourceAttributes resource{{"given.bool", true},
                                    {"given.integer", std::int64_t{-7}},
                                    {"given.double", 0.1},
                                    {"given.string", nasty_text},
                                    {"given.strings", std::vector<std::string>{"a", "", nasty_text}}};
  Sample sample;
  sample.resource = {resource.begin(), resource.end()};
  sample.resource.insert({{"service.name", config.service_name},
                          {"service.instance.id", std::string("interop-rank3")},
                          {"dl.rank", std::int64_t{3}},
                          {"dl.world_size", std::int64_t{8}}});
  setenv("no_proxy", "*", 1);  // a machine's proxy would stand between
  sample.began_ns = now_ns();
  auto telemetry = setup_telemetry(config, {.rank = 3, .world_size = 8}, resource);
  {
    auto truncated = start_span(SpanGroup::job, "truncated", begun_by_hand());
    expect_truncated(sample, truncated);
    record_attributes(sample, "attributes", all_types);
    if (numbers == Numbers::all) record_attributes(sample, "no numbers", no_numbers);
    record_kinds_and_statuses(sample, foreign_context());
    record_events(sample);
    record_links(sample, truncated.context());
    record_exception(sample);
    telemetry.shutdown();
  }
  sample.ended_ns = now_ns();
  sample.counters = telemetry.counters();
  return sample;
}

}  // namespace lens::tests
