// SPDX-License-Identifier: Apache-2.0
// The process's recorder: its rings, who owns which, and whether anything is recorded. Include it to start and stop
// recording and, on the pipeline thread, to reach the rings.
//
// Threads:   `start`, `stop`: one at a time. Rings are acquired and released by their threads under one mutex, once
//            in a thread's life.
// Ownership: never destroyed: late static destructors may still trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lens/config.h"
#include "src/model/identity.h"
#include "src/model/sampler.h"
#include "src/record/ring_file.h"

namespace lens::record {

struct RecorderOptions {
  std::string run_id;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string shm_dir = {};               // empty: private memory
  std::string resource = {}, scope = {};  // as they stand in a request, for who recovers what this process leaves
  std::string redacted_keys = {};         // one a line, for the same reader
  std::string trace_directory = {}, trace_file = {};
  SpanContext started_in = {};  // the parent of spans that have no other
  model::TraceSampler sampler = {};
  int sample_every_n_steps = 1;
  SpanLimits span_limits = {};  // of the links that a span's options hold, so many are recorded; the rest is counted
  LogLimits log_limits = {};
  bool spans = true, logs = false;  // which of them are recorded
};

/// A scope that ended while a younger one was still open, or on another thread; and the scope around it.
struct EndedEarly {
  detail::Position position;
  detail::Position previous;
};

class Recorder {
 public:
  static Recorder& instance();

  /// From now on spans and log records are recorded. `problem` says what could not be had in shared memory; false when
  /// there is no memory at all.
  bool start(const RecorderOptions& options, std::string& problem);
  /// Called by the first span of a forked child, which has no file yet: to start recording anew if it should.
  void set_restart(void (*restart)() noexcept) noexcept { restart_ = restart; }

  /// From now on nothing is recorded; what lies in the rings stays there for the pipeline.
  void stop() noexcept;

  /// Says in the file that everything has been exported: nobody needs to recover it.
  void close_file() noexcept;
  /// Takes the name of a closed file away.
  void remove_file() noexcept;

  /// Null before the first start, and in a forked child until it records.
  RingFile* file() const noexcept { return file_.get(); }
  const model::IdentityKeys& keys() const noexcept { return keys_; }
  const model::TraceSampler& sampler() const noexcept { return sampler_; }
  std::size_t most_links() const noexcept { return most_links_; }
  /// Rings 1 to ring_count() have been made.
  std::uint32_t ring_count() const noexcept { return made_.load(std::memory_order_acquire); }

  /// Time of records: stores a new calibration for readers outside.
  void publish_clock(std::uint64_t ticks, std::int64_t monotonic_ns, std::int64_t unix_ns, double ns_per_tick) noexcept;
  Counters& counters() const noexcept { return file_->header().counters; }
  /// Spans dropped for want of a ring or of room, over all rings.
  std::uint64_t dropped() const noexcept { return dropped_in_rings() + dropped_without_ring(); }
  std::uint64_t dropped_in_rings() const noexcept;
  /// Those of them whose thread got no ring.
  std::uint64_t dropped_without_ring() const noexcept { return dropped_without_ring_.load(std::memory_order_relaxed); }
  /// Log records that found no room, or whose thread got no ring.
  std::uint64_t dropped_logs() const noexcept { return dropped_logs_.load(std::memory_order_relaxed); }
  /// Attributes, events, links, status and ends that found no room.
  std::uint64_t lost_records() const noexcept;

  // For the recording threads.
  std::uint32_t acquire_ring() noexcept;  // 0: none left
  void release_ring(std::uint32_t number) noexcept;
  /// A scope that another thread than its own has ended, for the ring's owner to take off its chain.
  void note_ended_elsewhere(const EndedEarly& ended) noexcept;
  std::optional<EndedEarly> take_ended_elsewhere(std::uint32_t ring_number) noexcept;
  void count_drop_without_ring() noexcept { dropped_without_ring_.fetch_add(1, std::memory_order_relaxed); }
  void count_dropped_log() noexcept { dropped_logs_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Recorder();
  bool make_ring(std::uint32_t number) noexcept;
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::mutex mutex_;
  void (*restart_)() noexcept = nullptr;
  std::unique_ptr<RingFile> file_;
  std::vector<EndedEarly> ended_elsewhere_;
  model::IdentityKeys keys_;
  model::TraceSampler sampler_;
  std::size_t most_links_ = SpanLimits{}.links;
  std::uint32_t epoch_ = 0;  // which process of a line of forks; part of every position
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::uint64_t> dropped_without_ring_{0};
  std::atomic<std::uint64_t> dropped_logs_{0};
  std::chrono::steady_clock::time_point no_room_until_{};
};

/// The ring's number within its file.
constexpr std::uint32_t ring_number(detail::Position position) noexcept {
  return std::uint32_t(position >> detail::position_ring_shift) & 0xff;
}

}  // namespace lens::record
