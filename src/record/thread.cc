// SPDX-License-Identifier: Apache-2.0
// A thread's first span, a full ring, the end of a thread.
#include "src/record/thread.h"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "lens/log.h"
#include "src/record/clock.h"
#include "src/record/recorder.h"

namespace lens {

namespace detail {
namespace {
constexpr ThreadState no_thread = {&no_head, nullptr, 0, 0, 0, {}, nullptr, false};
}
constinit RingHead no_head{};
__thread ThreadState thread_state = no_thread;
}  // namespace detail

namespace record {

thread_local constinit ThreadBlock* thread_block = nullptr;

void forget_thread() noexcept {
  detail::thread_state = detail::no_thread;
  thread_block = nullptr;
}

namespace {

using namespace detail;

pthread_key_t exit_key;

void leave(void* pointer) noexcept {
  auto* block = static_cast<ThreadBlock*>(pointer);
  forget_thread();
  Recorder::instance().release_ring(block->ring_number);
  delete block;
}

bool register_exit() noexcept {
  static const bool registered = pthread_key_create(&exit_key, leave) == 0;
  return registered;
}

void note_thread(ThreadState& thread, RingHeader& ring) noexcept {
  ring.thread_id = static_cast<std::int32_t>(syscall(SYS_gettid));
  append(thread, thread.position(), sizeof(RecordHeader),
         RecordHeader::form_of(sizeof(RecordHeader), RecordKind::thread), std::uint32_t(ring.thread_id),
         now_ticks(thread));
}

bool adopt_ring(ThreadState& thread) noexcept {
  Recorder& recorder = Recorder::instance();
  if (!register_exit()) return false;
  auto* block = new (std::nothrow) ThreadBlock;
  if (!block) return false;
  block->ring_number = recorder.acquire_ring();
  if (block->ring_number == 0 || pthread_setspecific(exit_key, block) != 0) {
    if (block->ring_number) recorder.release_ring(block->ring_number);
    delete block;
    return false;
  }
  RingHeader& ring = recorder.file()->ring(block->ring_number);
  block->ring = &ring;
  ring.owner_first.store(ring.head.position.load(std::memory_order_relaxed), std::memory_order_relaxed);
  block->seen_tail = ring.tail.load(std::memory_order_acquire);
  block->seen_returned = ring.returned.load(std::memory_order_relaxed);
  block->seen_ends = block->seen_returned;
  thread.head = &ring.head;
  thread.ring = recorder.file()->data(block->ring_number);
  thread.mask = ring.data_bytes - 1;
  constexpr std::uint64_t part_kept_for_ends = 16;
  block->kept_for_ends = ring.data_bytes / part_kept_for_ends;
  thread.limit = block->seen_tail + ring.data_bytes - block->kept_for_ends;
  thread.current = 0;
  thread.exceptions = reinterpret_cast<const ExceptionState*>(abi::__cxa_get_globals());
  thread.system_clock = !has_invariant_counter();
  thread_block = block;
  if (thread.position() + sizeof(RecordHeader) <= thread.limit) note_thread(thread, ring);
  return true;
}

// What the pipeline has drained, and what others have ended of this thread's scopes, is room again.
void take_back_room(ThreadState& thread, ThreadBlock& block) noexcept {
  // Acquire: the pipeline's reads of the drained bytes come before this thread overwrites them.
  const Position tail = block.ring->tail.load(std::memory_order_acquire);
  const std::uint64_t returned = block.ring->returned.load(std::memory_order_relaxed);
  thread.limit += (tail - block.seen_tail) + (returned - block.seen_returned);
  block.seen_tail = tail;
  block.seen_returned = returned;
}

bool has_ring() noexcept { return thread_block || adopt_ring(thread_state); }

bool has_room(std::uint64_t bytes, std::uint64_t beyond_limit) noexcept {
  ThreadState& thread = thread_state;
  take_back_room(thread, *thread_block);
  return thread.position() + bytes <= thread.limit + beyond_limit;
}

}  // namespace

bool outgrows_ring(std::uint64_t bytes) noexcept {
  return thread_block && bytes > thread_block->ring->data_bytes - thread_block->kept_for_ends;
}

bool make_room_for_detail(std::uint64_t bytes, bool kept_too) noexcept {
  if (!recording.load(std::memory_order_relaxed) || !has_ring()) return false;
  if (has_room(bytes, kept_too ? thread_block->kept_for_ends : 0)) return true;
  thread_block->ring->lost_records.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace record

namespace detail {

using namespace record;

bool make_room(std::uint64_t bytes, std::uint64_t reserve) noexcept {
  if (!recording.load(std::memory_order_relaxed)) return false;
  if (!has_ring()) {
    Recorder::instance().count_drop_without_ring();
    return false;
  }
  if (has_room(bytes + reserve, 0)) return true;
  if (outgrows_ring(bytes + reserve)) return false;  // it comes again with less
  thread_block->ring->dropped.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool make_room_for_log(std::uint64_t bytes) noexcept {
  if (!logging.load(std::memory_order_relaxed)) return false;
  if (has_ring() && has_room(bytes + thread_block->ring->data_bytes / 4, 0)) return true;
  Recorder::instance().count_dropped_log();
  return false;
}

}  // namespace detail
}  // namespace lens
