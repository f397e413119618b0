// SPDX-License-Identifier: Apache-2.0
#include "src/record/propagation.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "lens/propagation.h"
#include "src/record/trace_states.h"

namespace lens {
namespace {

// Never changed once published and never destroyed: read without a lock, which a forked child might find taken.
struct Process {
  model::Propagators propagators = {};
  Propagation started_in = {};
  const Process* before = nullptr;
};

constinit std::atomic<const Process*> published{nullptr};

// The first source of a broadcast that had no context to give; -1: none.
constinit std::atomic<int> sourceless{-1};

const Process& process() noexcept {
  static const Process* const initial = new Process;
  // Acquire: what it points to is complete.
  const Process* present = published.load(std::memory_order_acquire);
  return present ? *present : *initial;
}

}  // namespace

namespace record {

void set_process_propagation(model::Propagators propagators, Propagation started_in) {
  const Process& present = process();
  if (present.propagators == propagators && present.started_in == started_in) return;
  remember_trace_state(started_in.context.trace_id, started_in.tracestate);
  published.store(new Process{propagators, std::move(started_in), &present}, std::memory_order_release);
}

const Propagation& process_started_in() noexcept { return process().started_in; }

int take_source_without_context() noexcept {
  // Looked at first: the pipeline comes by in each of its rounds.
  return sourceless.load(std::memory_order_relaxed) < 0 ? -1 : sourceless.exchange(-1, std::memory_order_relaxed);
}

}  // namespace record

void detail::note_source_without_context(int source) noexcept {
  int none = -1;
  // Relaxed: a number, of which nothing else hangs.
  sourceless.compare_exchange_strong(none, source, std::memory_order_relaxed);
}

Propagation current_propagation() {
  Propagation propagation = process().started_in;
  if (const SpanContext context = current_context()) {
    if (context.trace_id != propagation.context.trace_id)
      propagation.tracestate = record::trace_state_of(context.trace_id);
    propagation.context = context;
  }
  return propagation;
}

namespace detail {

W3cHeaders w3c_headers(const Propagation& propagation) { return model::to_w3c(propagation, process().propagators); }

Propagation from_w3c_headers(const W3cHeaders& headers, Propagation before) {
  Propagation received = model::from_w3c(headers, process().propagators, std::move(before));
  record::remember_trace_state(received.context.trace_id, received.tracestate);
  return received;
}

bool same_header(std::string_view left, std::string_view right) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(), [&](char l, char r) { return lower(l) == lower(r); });
}

}  // namespace detail
}  // namespace lens
