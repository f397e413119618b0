// SPDX-License-Identifier: Apache-2.0
// Scopes, spans and activations that the inline code cannot begin or end by itself: with options, out of order, on
// another thread, left by an exception.
#include <algorithm>
#include <new>

#include "lens/span_handle.h"
#include "src/model/group_registry.h"
#include "src/record/in_flight_exception.h"
#include "src/record/option_items.h"
#include "src/record/propagation.h"
#include "src/record/recorder.h"
#include "src/record/steps.h"
#include "src/record/thread.h"

namespace lens {
namespace record {
namespace {

constexpr Position mark = 1;
constexpr Position unmarked(Position position) noexcept { return position & ~mark; }

// Whether the present owner of the ring wrote the record.
bool of_present_owner(const RingHeader& ring, Position position) noexcept {
  return position >= ring.owner_first.load(std::memory_order_relaxed);
}

// Whether the record is of this process and not inherited through fork.
bool made_by_this_process(Position position) noexcept {
  const Recorder& recorder = Recorder::instance();
  const std::uint32_t number = ring_number(position);
  if (!recorder.file() || number == 0 || number > recorder.ring_count()) return false;
  return (recorder.file()->ring(number).head.position.load(std::memory_order_relaxed) ^ position) >>
             position_ring_shift ==
         0;
}

void write_end(Position position, const std::optional<SystemTime>& at) noexcept;
void mark_incomplete(ThreadBlock& block, Position position, RecordKind lost) noexcept;

/// Makes `position` the youngest open scope, marked when its end needs the slow path.
void set_current(ThreadState& thread, ThreadBlock& block, Position position) noexcept {
  position = unmarked(position);
  if (position == 0) {
    block.ended_early.clear();
    block.step = 0;
  }
  const bool changed = !block.changes.empty() && block.changes.back().position == position;
  thread.current = position != 0 && (changed || !block.ended_early.empty()) ? position | mark : position;
}

// Goes back to the trace before the scope. When a younger change is still open, that one goes back to it later.
void restore_trace(ThreadState& thread, ThreadBlock& block, Position position) noexcept {
  auto& changes = block.changes;
  for (std::size_t i = changes.size(); i-- > 0;) {
    if (changes[i].position != position) continue;
    (i + 1 == changes.size() ? thread.trace : changes[i + 1].before) = changes[i].before;
    changes.erase(changes.begin() + std::ptrdiff_t(i));
    if (block.step == position) block.step = 0;
    return;
  }
}

/// Takes a scope that has ended off the thread's chain of open ones.
void unlink_scope(Position position, Position previous) noexcept try {
  ThreadState& thread = thread_state;
  ThreadBlock& block = *thread_block;
  restore_trace(thread, block, position);
  if (unmarked(thread.current) != position) {
    block.ended_early.push_back({position, unmarked(previous)});
    thread.current |= mark;
    return;
  }
  Position next = unmarked(previous);
  for (std::size_t i = 0; i < block.ended_early.size();) {
    if (block.ended_early[i].position != next) {
      ++i;
      continue;
    }
    next = block.ended_early[i].previous;
    block.ended_early.erase(block.ended_early.begin() + std::ptrdiff_t(i));
    i = 0;
  }
  set_current(thread, block, next);
} catch (const std::bad_alloc&) {
  // The scope stays on the chain: a later span may get it as its parent. Its end is recorded all the same.
}

/// Takes the scopes of this thread that others have ended off its chain. They are rare: a look at one word otherwise.
void notice_ends_elsewhere() noexcept {
  if (!thread_block) return;
  // Acquire: what was noted before is seen.
  const std::uint64_t ends = thread_block->ring->returned.load(std::memory_order_acquire);
  if (ends == thread_block->seen_ends) return;
  thread_block->seen_ends = ends;
  while (const auto ended = Recorder::instance().take_ended_elsewhere(thread_block->ring_number))
    unlink_scope(ended->position, ended->previous);
}

/// Saves the current trace before the scope at `position` changes it. False: no memory.
bool save_trace(Position position, const SpanContext& activated, bool has_given_parent) noexcept try {
  thread_block->changes.push_back({position, thread_state.trace, activated, has_given_parent});
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// The flags of a span whose explicit parent is `context`, of this process or of another.
std::uint8_t flags_under(const SpanContext& context) noexcept {
  const Recorder& recorder = Recorder::instance();
  const Position position = model::position_of(model::word_of(context.span_id), recorder.keys());
  return recorder.sampler().flags_under(context.flags, model::words_of(context.trace_id),
                                        made_by_this_process(position));
}

SpanContext unsampled(SpanContext context) noexcept {
  context.flags &= static_cast<std::uint8_t>(~SpanContext::sampled);
  return context;
}

void enter_trace(const SpanContext& context) noexcept {
  TraceState& trace = thread_state.trace;
  trace.root = 0;
  std::memcpy(trace.words, context.trace_id.bytes.data(), sizeof trace.words);
  trace.flags = flags_under(context);
}

/// The trace that the span at `position` begins.
SpanContext own_trace(Position position) noexcept {
  const Recorder& recorder = Recorder::instance();
  const model::TraceWords words = model::trace_words(position, recorder.keys());
  return {model::trace_id_of(words), {}, recorder.sampler().flags_of_root(words)};
}

/// The trace of a span at `position` that has neither a parent nor a scope around it.
SpanContext outermost_trace(Position position) noexcept {
  const SpanContext& parent = process_started_in().context;
  if (!parent) return own_trace(position);
  const model::TraceSampler& sampler = Recorder::instance().sampler();
  return {parent.trace_id, {}, sampler.flags_under(parent.flags, model::words_of(parent.trace_id), false)};
}

/// Appends a begin or start record; 0 when there was no room.
template <class... Items>
Position append_first(RecordKind kind, Name name, std::uint64_t reserve, const Items&... items) noexcept {
  ThreadState& thread = thread_state;
  const std::uint64_t bytes = (sizeof(RecordHeader) + ... + items.bytes());
  if (thread.position() + bytes + reserve > thread.limit && !make_room(bytes, reserve)) return 0;
  const Position position = thread.position();
  append(thread, position, bytes, RecordHeader::form_of(bytes, kind), name.id(), now_ticks(thread), items...);
  return position;
}

/// The same with options and attributes; where these outgrow the ring, with what there is room for in any.
Position append_with_options(RecordKind kind, Name name, const SpanOptions& options, const ItemsView& attributes,
                             std::uint64_t reserve) noexcept {
  const std::size_t most_links = Recorder::instance().most_links();
  const OptionItems items(options, most_links);
  const Position position = append_first(kind, name, reserve, items, attributes);
  if (position != 0 || !outgrows_ring(sizeof(RecordHeader) + items.bytes() + attributes.bytes() + reserve))
    return position;
  const OptionItems fewer_items(options, std::min(most_links, SpanLimits{}.links));
  if (attributes.count == 0) return append_first(kind, name, reserve, fewer_items);
  return append_first(kind, name, reserve, fewer_items, lost_item(RecordKind::attributes, attributes.count));
}

}  // namespace

}  // namespace record

namespace detail {

using namespace record;

Position begin_bare_scope(std::uint32_t name, std::uint64_t bytes, std::size_t item_count) noexcept {
  if (!outgrows_ring(bytes + end_record_bytes)) return 0;
  unsigned exceptions;
  return begin_scope(name, exceptions, lost_item(RecordKind::attributes, item_count));
}

void end_slowly(Position position, Position previous, unsigned exceptions) noexcept {
  ThreadState& thread = thread_state;
  if (!made_by_this_process(position)) return;
  if (thread.exceptions && thread.exceptions->uncaught > exceptions) record_in_flight_exception(position);
  RingHeader& ring = Recorder::instance().file()->ring(ring_number(position));
  const bool owned = of_present_owner(ring, position);
  if (&ring.head != thread.head || !owned) {
    if (owned) {
      Recorder::instance().note_ended_elsewhere({position, unmarked(previous)});
      ring.returned.fetch_add(end_record_bytes, std::memory_order_release);
    }
    return write_end(position, {});
  }
  notice_ends_elsewhere();
  thread.limit += end_record_bytes;
  const ScalarItem whole{{0, ItemType::position, 0, 0}, position};
  const std::uint64_t whole_bytes = end_record_bytes + whole.bytes();
  if (!names_by_half(position, thread.position()) && thread.position() + whole_bytes <= thread.limit)
    append(thread, thread.position(), whole_bytes, RecordHeader::form_of(whole_bytes, RecordKind::end, true),
           std::uint32_t(position), now_ticks(thread), whole);
  else
    append(thread, thread.position(), end_record_bytes, RecordHeader::form_of(end_record_bytes, RecordKind::end),
           std::uint32_t(position), now_ticks(thread));
  unlink_scope(position, previous);
}

Position begin_scope_with(Name name, const SpanOptions& options, const ItemsView& attributes,
                          unsigned& exceptions) noexcept {
  ThreadState& thread = thread_state;
  notice_ends_elsewhere();
  const Position position = append_with_options(RecordKind::begin, name, options, attributes, end_record_bytes);
  if (position == 0) return 0;
  thread.limit -= end_record_bytes;
  exceptions = thread.exceptions->uncaught;
  const bool is_outermost = thread.is_outside();
  if ((options.root || options.parent) && save_trace(position, {}, !options.root)) {
    enter_trace(options.root ? own_trace(position) : options.parent);
  } else if (is_outermost) {
    thread.trace.root = position;
  }
  set_current(thread, *thread_block, position);
  return position;
}

StartedSpan start_span(Name name, const SpanOptions& options, const ItemsView& attributes) noexcept {
  if (!recording.load(std::memory_order_relaxed)) return {};
  notice_ends_elsewhere();
  const Position position = append_with_options(RecordKind::start, name, options, attributes, 0);
  if (position == 0) return {};
  const ThreadState& thread = thread_state;
  StartedSpan started{position, {}};
  if (options.root)
    started.context = own_trace(position);
  else if (options.parent)
    started.context = {options.parent.trace_id, {}, flags_under(options.parent)};
  else
    started.context = thread.is_outside() ? outermost_trace(position) : current_context();
  started.context.span_id = model::span_id_of(model::span_word(position, Recorder::instance().keys()));
  return started;
}

void end_span(Position position, std::optional<SystemTime> at) noexcept {
  if (made_by_this_process(position)) write_end(position, at);
}

Activated activate(const SpanContext& context) noexcept {
  ThreadState& thread = thread_state;
  if (!recording.load(std::memory_order_relaxed)) return {};
  const ContextItem item = context_item(ItemType::parent, context);
  const std::uint64_t bytes = sizeof(RecordHeader) + item.bytes();
  if (thread.position() + bytes + end_record_bytes > thread.limit &&
      !make_room_for_detail(bytes + end_record_bytes, false))
    return {};
  const Activated activated{thread.position(), thread.current};
  if (!save_trace(activated.position, context, true)) return {};
  append(thread, activated.position, bytes, RecordHeader::form_of(bytes, RecordKind::activate), 0, now_ticks(thread),
         item);
  thread.limit -= end_record_bytes;
  enter_trace(context);
  set_current(thread, *thread_block, activated.position);
  return activated;
}

void deactivate(const Activated& activated) noexcept {
  constexpr unsigned no_exception = ~0u;
  end_slowly(activated.position, activated.previous, no_exception);
}

Position current_position() noexcept {
  notice_ends_elsewhere();
  const Position position = unmarked(thread_state.current);
  if (position == 0 || !thread_block || thread_state.is_outside()) return 0;
  for (const TraceChange& change : thread_block->changes) {
    if (change.position != position || !change.activated) continue;
    const Position activated =
        model::position_of(model::word_of(change.activated.span_id), Recorder::instance().keys());
    return made_by_this_process(activated) ? activated : 0;
  }
  return position;
}

SpanContext context_of(Position position) noexcept {
  position = unmarked(position);
  if (position == 0 || !thread_block || !made_by_this_process(position)) return {};
  if (position < Recorder::instance().file()->ring(ring_number(position)).head.session_first) return {};
  TraceState trace = thread_state.trace;
  const auto& changes = thread_block->changes;
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->position == position && change->activated) return change->activated;
    if (change->position <= position) break;
    trace = change->before;
  }
  SpanContext context;
  if (trace.root) {
    context = outermost_trace(trace.root);
  } else {
    std::memcpy(context.trace_id.bytes.data(), trace.words, sizeof trace.words);
    context.flags = trace.flags;
  }
  context.span_id = model::span_id_of(model::span_word(position, Recorder::instance().keys()));
  return context;
}

namespace {
// In a step of this session: the shutdown of an earlier one has ended its own.
bool is_in_step() noexcept {
  return thread_block && thread_block->step != 0 && thread_block->step >= thread_block->ring->head.session_first;
}
}  // namespace

namespace {
// Under a context that another thread may have handed over, and under no root since.
bool is_under_given_parent() noexcept {
  return thread_block && !thread_block->changes.empty() && thread_block->changes.back().has_given_parent;
}

// The outermost step decides, by a change of the trace's flags: what nests in it inherits them, here and in the
// pipeline. A span without a number whose parent was given is part of that parent's step, on whatever thread that is.
void enter_step(Position position, std::optional<std::int64_t> iteration) noexcept {
  if (is_in_step() || (!iteration && is_under_given_parent())) return;
  const bool kept = keeps_step(iteration);
  if (position == 0) return;
  ThreadBlock& block = *thread_block;
  const SpanContext context = context_of(position);
  const bool has_changed = !block.changes.empty() && block.changes.back().position == position;
  if (!has_changed && !save_trace(position, {}, false)) return;
  block.step = position;
  set_current(thread_state, block, position);
  if (kept) return;
  append_about(position, RecordKind::unsampled, std::uint32_t(position), true);
  enter_trace(unsampled(context));
}

bool keeps_started_step(Position position, const SpanOptions& options, std::optional<std::int64_t> iteration) noexcept {
  const bool is_given = !options.root && (options.parent || is_under_given_parent());
  if (is_in_step() || (!iteration && is_given)) return true;  // as the step that it is in
  if (keeps_step(iteration)) return true;
  if (position != 0) append_about(position, RecordKind::unsampled, std::uint32_t(position), true);
  return false;
}
}  // namespace

void enter_watched(const Group& group, Position position, std::optional<std::int64_t> iteration) noexcept {
  if (GroupRegistry::instance().note_span(group)) enter_step(position, iteration);
}

bool keeps_watched(const Group& group, Position position, const SpanOptions& options,
                   std::optional<std::int64_t> iteration) noexcept {
  return !GroupRegistry::instance().note_span(group) || keeps_started_step(position, options, iteration);
}

bool make_room_about(Position position, std::uint64_t bytes, RecordKind kind) noexcept {
  if (!made_by_this_process(position)) return false;
  const bool kept_too = kind == RecordKind::end || kind == RecordKind::lost || kind == RecordKind::unsampled;
  if (make_room_for_detail(bytes, kept_too)) return true;
  if (!kept_too && thread_block) mark_incomplete(*thread_block, position, kind);
  return false;
}

void set_status(Position position, StatusCode code, std::string_view message) noexcept {
  if (code != StatusCode::error) message = {};  // OpenTelemetry lets nothing else be described
  const TextItem item(0, message, ItemType::status, static_cast<std::uint8_t>(code));
  append_about(position, RecordKind::status, std::uint32_t(position), true, item);
}

void add_link(Position position, const SpanContext& context) noexcept {
  append_about(position, RecordKind::links, std::uint32_t(position), true, context_item(ItemType::link, context));
}

}  // namespace detail

namespace record {
namespace {

// The end of a span that is not the youngest scope of this thread. Without room here it is not lost in silence: the
// drop is counted and the span stays open, to be ended by shutdown.
void write_end(Position position, const std::optional<SystemTime>& at) noexcept {
  const ScalarItem time{{0, ItemType::time, 0, 0}, at ? unix_ns(*at) : 0};
  if (at)
    append_about(position, RecordKind::end, std::uint32_t(position), true, time);
  else
    append_about(position, RecordKind::end, std::uint32_t(position), true);
}

// Tells a span once that something about it was lost, in the room that is kept for ends.
void mark_incomplete(ThreadBlock& block, Position position, RecordKind lost) noexcept {
  if (block.incomplete == position) return;
  block.incomplete = position;
  const ScalarItem item{{0, ItemType::lost, static_cast<std::uint8_t>(lost), 0}, 0};
  append_about(position, RecordKind::lost, std::uint32_t(position), true, item);
}

}  // namespace
}  // namespace record

SpanContext current_context() noexcept {
  record::notice_ends_elsewhere();
  return detail::context_of(detail::thread_state.current);
}

}  // namespace lens
