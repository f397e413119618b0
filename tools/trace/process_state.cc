// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/process_state.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

#include "src/base/utf8.h"
#include "src/otlp/record_items.h"

namespace lens::trace {
namespace {

using detail::RecordHeader;
using Bytes = std::span<const std::byte>;

void read_iteration(const RingFile& rings, Bytes items, std::optional<std::int64_t>& iteration) {
  otlp::for_each_item(items, [&](const detail::ItemHeader& header, const std::byte* payload) {
    if (header.type != detail::ItemType::integer && header.type != detail::ItemType::unsigned_integer) return true;
    const std::string_view key = rings.name(header.key);
    if (key == "iteration" || key.ends_with(".iteration"))
      iteration = static_cast<std::int64_t>(otlp::word_at(payload));
    return true;
  });
}

/// Of what a span was given when it began, and what it was told later: the last wins.
std::optional<std::int64_t> iteration_of(const RingFile& rings, Bytes items, Bytes later) {
  std::optional<std::int64_t> iteration;
  read_iteration(rings, items, iteration);
  while (later.size() >= sizeof(RecordHeader)) {
    RecordHeader header;
    std::memcpy(&header, later.data(), sizeof header);
    if (header.bytes() < sizeof header || header.bytes() > later.size()) break;
    if (header.kind() == detail::RecordKind::attributes)
      read_iteration(rings, later.first(header.bytes()).subspan(sizeof header), iteration);
    later = later.subspan(header.bytes());
  }
  return iteration;
}

struct LastIteration : assemble::SpanSink {
  explicit LastIteration(const RingFile& rings) : rings(rings) {}
  void on_span(const otlp::SpanRecord& span) override {
    if (const auto found = iteration_of(rings, span.items, span.later)) iteration = found;
  }
  const RingFile& rings;
  std::optional<std::int64_t> iteration;
};

/// What is open in a process: the scopes of its threads, and spans that are no scopes, which hang together by their
/// parents only.
class OpenSpans {
 public:
  using Stack = std::vector<const assemble::OpenSpan*>;  // outermost first

  explicit OpenSpans(const assemble::Assembler& assembler) {
    assembler.for_each_open([this](const assemble::OpenSpan& span) {
      if (span.is_activation || !span.is_started)
        scopes_[span.position >> detail::position_ring_shift].push_back(&span);
      if (!span.is_activation) by_id_.emplace(span.span, &span);
      if (span.is_started) started_.push_back(&span);
    });
    std::sort(started_.begin(), started_.end(),
              [](const auto* left, const auto* right) { return is_older(left, right); });
  }

  /// Of the thread whose outermost span is the oldest; spans that belong to no thread count as one more.
  Stack stack() const {
    std::vector<Stack> stacks;
    for (const auto& [ring, scopes] : scopes_) stacks.push_back(stack_of(scopes));
    if (!started_.empty()) stacks.push_back(stack_of({started_.back()}));
    std::erase_if(stacks, [](const Stack& stack) { return stack.empty(); });
    const auto oldest = std::min_element(stacks.begin(), stacks.end(), [](const Stack& left, const Stack& right) {
      return is_older(left.front(), right.front());
    });
    return oldest == stacks.end() ? Stack{} : *oldest;
  }

 private:
  static bool is_older(const assemble::OpenSpan* left, const assemble::OpenSpan* right) {
    return left->start_unix_ns < right->start_unix_ns;
  }
  static bool contains(const Stack& stack, const assemble::OpenSpan* span) {
    return std::find(stack.begin(), stack.end(), span) != stack.end();
  }

  // A thread's scopes, the ancestors of the outermost, and below the innermost the youngest that was started in it.
  Stack stack_of(const Stack& scopes) const {
    Stack stack;
    for (const assemble::OpenSpan* scope : scopes) {
      const assemble::OpenSpan* span = scope->is_activation ? find(scope->span) : scope;
      if (span && !contains(stack, span)) stack.push_back(span);
    }
    if (stack.empty()) return stack;
    for (auto* above = find(stack.front()->parent); above && !contains(stack, above); above = find(above->parent))
      stack.insert(stack.begin(), above);
    for (auto* below = youngest_in(*stack.back()); below && !contains(stack, below); below = youngest_in(*below))
      stack.push_back(below);
    return stack;
  }

  const assemble::OpenSpan* find(std::uint64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
  }
  const assemble::OpenSpan* youngest_in(const assemble::OpenSpan& parent) const {
    const auto found = std::find_if(started_.rbegin(), started_.rend(),
                                    [&](const assemble::OpenSpan* span) { return span->parent == parent.span; });
    return found == started_.rend() ? nullptr : *found;
  }

  std::map<detail::Position, Stack> scopes_;  // by ring; with activations
  std::unordered_map<std::uint64_t, const assemble::OpenSpan*> by_id_;
  Stack started_;  // oldest first
};

// A pipeline looks into the rings each few milliseconds; a loaded machine may keep it from that for a while.
constexpr double stall_s = 5;

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
  state.fork_count = rings.fork_count();
  state.start_unix_ns = facts.start_unix_ns;
  state.spans_recorded = facts.spans_recorded;
  state.spans_dropped = facts.spans_dropped + rings.read_uncounted_drops();

  assemble::Assembler assembler(rings.keys(), rings.time_line(), rings.started_in());
  LastIteration last(rings);
  const std::uint64_t last_ticks = rings.feed(assembler, last, state.problems);
  const std::int64_t until_ns = state.is_alive ? now_unix_ns() : assembler.time().unix_ns(last_ticks);
  state.iteration = last.iteration;
  const auto seconds_since = [until_ns](std::int64_t unix_ns) {
    return std::max(0.0, double(assemble::wrapping_difference(until_ns, unix_ns)) * 1e-9);
  };
  if (const std::int64_t since_ns = facts.export_failing_since_unix_ns; since_ns != 0)
    state.export_failure = {seconds_since(since_ns), base::repaired_utf8(facts.export_failure)};
  if (const double since_s = seconds_since(facts.clock.unix_ns);
      state.is_alive && facts.clock.unix_ns != 0 && since_s >= stall_s)
    state.stalled_for_s = since_s;

  for (const assemble::OpenSpan* span : OpenSpans(assembler).stack()) {
    state.stack.push_back({std::string(rings.name(span->name)), seconds_since(span->start_unix_ns)});
    if (const auto found = iteration_of(rings, span->items(), span->later())) state.iteration = found;
  }
  std::reverse(state.stack.begin(), state.stack.end());
  rings.tell_unknown_names(state.problems);
  return state;
}

}  // namespace lens::trace
