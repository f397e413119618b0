// SPDX-License-Identifier: Apache-2.0
#include "src/record/propagation.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace lens {
namespace {

// Never changed once published and never destroyed: read without a lock, which a forked child might find taken.
struct Process {
  model::Propagators propagators = {};
  Propagation started_in = {};
  const Process* before = nullptr;
};

constinit std::atomic<const Process*> published{nullptr};

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
  published.store(new Process{propagators, std::move(started_in), &present}, std::memory_order_release);
}

const Propagation& process_started_in() noexcept { return process().started_in; }

}  // namespace record

Propagation current_propagation() {
  Propagation propagation = process().started_in;
  if (const SpanContext context = current_context()) {
    if (context.trace_id != propagation.context.trace_id) propagation.tracestate.clear();
    propagation.context = context;
  }
  return propagation;
}

namespace detail {

W3cHeaders w3c_headers(const Propagation& propagation) { return model::to_w3c(propagation, process().propagators); }

Propagation from_w3c_headers(const W3cHeaders& headers, Propagation before) {
  return model::from_w3c(headers, process().propagators, std::move(before));
}

bool same_header(std::string_view left, std::string_view right) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(), [&](char l, char r) { return lower(l) == lower(r); });
}

}  // namespace detail
}  // namespace lens
