// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/process_state.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>

#include "src/otlp/record_items.h"

namespace lens::trace {
namespace {

std::optional<std::int64_t> iteration_of(const RingFile& rings, std::span<const std::byte> items) {
  std::optional<std::int64_t> iteration;
  otlp::for_each_item(items, [&](const detail::ItemHeader& header, const std::byte* payload) {
    if (header.type != detail::ItemType::integer && header.type != detail::ItemType::unsigned_integer) return true;
    const std::string_view key = rings.name(header.key);
    if (key == "iteration" || key.ends_with(".iteration"))
      iteration = static_cast<std::int64_t>(otlp::word_at(payload));
    return true;
  });
  return iteration;
}

struct LastIteration : assemble::SpanSink {
  explicit LastIteration(const RingFile& rings) : rings(rings) {}
  void on_span(const otlp::SpanRecord& span) override {
    if (const auto found = iteration_of(rings, span.items)) iteration = found;
  }
  const RingFile& rings;
  std::optional<std::int64_t> iteration;
};

std::int64_t now_unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

ProcessState read_process_state(RingFile& rings) {
  const RingFileFacts facts = rings.read_facts();
  ProcessState state;
  state.rank = facts.rank;
  state.pid = facts.pid;
  state.file = rings.path().string();
  state.is_alive = rings.is_alive();
  state.spans_recorded = facts.spans_recorded;
  state.spans_dropped = facts.spans_dropped;

  assemble::Assembler assembler(rings.keys(), rings.time_line(), rings.started_in());
  LastIteration last(rings);
  const std::uint64_t last_ticks = rings.feed(assembler, last, state.problems);
  const std::int64_t until_ns = state.is_alive ? now_unix_ns() : assembler.time().unix_ns(last_ticks);
  state.iteration = last.iteration;

  std::map<detail::Position, std::vector<assemble::OpenSpan const*>> by_ring;  // outermost first
  assembler.for_each_open([&](const assemble::OpenSpan& span) {
    if (!span.is_activation && !span.is_started) by_ring[span.position >> detail::position_ring_shift].push_back(&span);
  });
  const auto main = std::min_element(by_ring.begin(), by_ring.end(), [](const auto& left, const auto& right) {
    return left.second.front()->start_unix_ns < right.second.front()->start_unix_ns;
  });
  if (main == by_ring.end()) return state;
  for (const assemble::OpenSpan* span : main->second) {
    const double open_s = std::max(0.0, double(assemble::wrapping_difference(until_ns, span->start_unix_ns)) * 1e-9);
    state.stack.push_back({std::string(rings.name(span->name)), open_s});
    if (const auto found = iteration_of(rings, span->items)) state.iteration = found;
  }
  std::reverse(state.stack.begin(), state.stack.end());
  return state;
}

}  // namespace lens::trace
