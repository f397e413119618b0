// SPDX-License-Identifier: Apache-2.0
#include "src/record/trace_states.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "src/model/identity.h"
#include "src/model/w3c.h"
#include "src/record/recorder.h"
#include "src/record/ring_file.h"

namespace lens::record {
namespace {

struct Hash {
  std::size_t operator()(const TraceId& trace) const noexcept { return model::words_of(trace).low; }
};

struct Entry {
  TraceId trace;
  std::string state;
};

struct Table {
  std::mutex mutex;
  std::array<Entry, trace_state_count> entries;  // in the order in which they came; the oldest at `next` makes room
  std::size_t next = 0;
  std::unordered_map<TraceId, std::size_t, Hash> places;  // in `entries`: of each trace the latest
  RingFile* published_to = nullptr;
};

constinit std::atomic<bool> any{false};

// Never destroyed, as all of the recorder, which sees to it that a forked child finds the mutex free.
Table& table() {
  static auto* table = new Table;
  static_cast<void>(Recorder::instance());
  return *table;
}

}  // namespace

void lock_trace_states_for_fork() { table().mutex.lock(); }
void forget_trace_states_file_after_fork() noexcept { table().published_to = nullptr; }
void unlock_trace_states_after_fork() { table().mutex.unlock(); }

void publish_trace_states_to(RingFile* file) {
  Table& known = table();
  std::lock_guard lock(known.mutex);
  known.published_to = file;
  for (std::size_t i = 0; i < known.entries.size(); ++i) {
    const std::size_t place = (known.next + i) % known.entries.size();
    const Entry& entry = known.entries[place];
    const auto latest = known.places.find(entry.trace);
    if (latest != known.places.end() && latest->second == place) file->add_trace_state(entry.trace, entry.state);
  }
}

void remember_trace_state(const TraceId& trace, std::string_view tracestate) {
  std::string state = model::format_tracestate(model::parse_tracestate(tracestate));
  if (!trace.valid() || state.empty()) return;
  Table& known = table();
  std::lock_guard lock(known.mutex);
  const auto [place, is_new] = known.places.try_emplace(trace, known.next);
  if (!is_new && known.entries[place->second].state == state) return;
  place->second = known.next;
  Entry& oldest = known.entries[known.next];
  if (const auto old = known.places.find(oldest.trace);
      old != known.places.end() && old != place && old->second == known.next)
    known.places.erase(old);
  oldest = {trace, std::move(state)};
  known.next = (known.next + 1) % known.entries.size();
  if (known.published_to) known.published_to->add_trace_state(oldest.trace, oldest.state);
  any.store(true, std::memory_order_release);
}

std::string trace_state_of(const TraceId& trace) {
  if (!has_trace_states()) return {};
  Table& known = table();
  std::lock_guard lock(known.mutex);
  const auto place = known.places.find(trace);
  return place == known.places.end() ? std::string() : known.entries[place->second].state;
}

// Acquire: who sees that there are some finds them.
bool has_trace_states() noexcept { return any.load(std::memory_order_acquire); }

}  // namespace lens::record
