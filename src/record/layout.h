// SPDX-License-Identifier: Apache-2.0
// The file in shared memory that a recording process keeps: what `lens` reads of a live or dead process.
// docs/format.md is its specification; this header is the same in C++. Include it to map or to read such a file.
//
//   FileHeader | RingHeader × ring_count | names | envelope | batches | log batches | trace states
//              | per ring: open spans, data
//
// All integers are in the byte order of the machine. Fields that change while others read are atomics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lens/recorder.h"

namespace lens::record {

inline constexpr char layout_magic[8] = {'L', 'E', 'N', 'S', 'R', 'I', 'N', 'G'};
inline constexpr std::uint32_t layout_version = 6;
// Of spans and of log records each: one that they go to, and those that wait for a collector's answer.
inline constexpr std::size_t batch_count = 5;
inline constexpr std::size_t trace_state_count = 256;

enum class FileState : std::uint32_t { empty = 0, recording = 1, closed = 2 };
enum class RingState : std::uint32_t { unused = 0, owned = 1, free = 2 };
enum class ClockKind : std::uint32_t { monotonic = 0, tsc = 1 };

/// Ticks and the system clocks at one instant, and the rate: enough to tell the time of any record.
struct ClockCalibration {
  std::atomic<std::uint64_t> sequence;  // odd while it is being written
  std::uint64_t ticks;
  std::int64_t monotonic_ns;
  std::int64_t unix_ns;
  double ns_per_tick;
};

struct Counters {
  std::atomic<std::uint64_t> spans_recorded;  // ended and taken out of the rings
  std::atomic<std::uint64_t> spans_exported;  // accepted by the exporter's destination
  std::atomic<std::uint64_t> spans_dropped;   // no room in a ring, or refused by the destination
  std::atomic<std::uint64_t> spans_truncated;
  std::atomic<std::uint64_t> ring_drops;         // how much of what the rings' headers count is in spans_dropped
  std::atomic<std::uint64_t> spans_sampled_out;  // of spans_recorded: a sampler did not keep them
};

/// That nothing has been exported since, though it was tried, and why. A text that ends at a zero or with its room.
struct ExportFailure {
  std::atomic<std::uint64_t> sequence;  // odd while it is being written
  std::int64_t since_unix_ns;           // 0: all is well
  char text[496];
};

/// What was open when everything before `tail` had been drained: OpenEntry records (src/assemble/open_entry.h).
struct OpenList {
  std::uint64_t tail;
  std::uint64_t bytes;
  std::uint64_t incomplete;  // 1: not all found room
};

/// How much a span may carry; what is beyond is left out and counted. The encoder's, for who encodes what is left.
struct StoredSpanLimits {
  std::uint64_t attributes, events, links, event_attributes, link_attributes;
  std::uint64_t value_characters;  // of a text
};

struct StoredLogLimits {
  std::uint64_t attributes, value_characters;
};

/// Which traces are kept: model::TraceSampler.
struct StoredSampler {
  std::uint64_t threshold, follows_parent;
};

/// The W3C tracestate of a trace that began elsewhere.
struct StoredTraceState {
  std::atomic<std::uint64_t> number;  // counted from 1; 0: none, or it is being written
  std::uint8_t trace[16];
  std::uint32_t bytes;
  char text[512];
};

enum class ControlOutcome : std::uint32_t { none = 0, applied = 1, refused = 2 };

/// Which groups shall be on, and what became of it. Texts end at a zero or with their room.
struct ControlBlock {
  // The one part of the file that other processes write to.
  std::atomic<std::uint64_t> request;  // raised with each; odd while the spec is being written
  char spec[1024];
  // Written by the pipeline thread.
  std::atomic<std::uint64_t> answered;  // the request that this is about
  ControlOutcome outcome;
  char answer[2044];  // the groups that are on now, or why not
};

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t ring_header_bytes;
  std::uint32_t ring_count;  // room for so many; the first is number 1
  std::uint64_t rings_offset;
  std::uint64_t names_offset;
  std::uint64_t names_bytes;
  std::atomic<std::uint64_t> names_used;  // each name: 4-byte length, text, padded to 4; the first is id 1
  std::uint64_t envelope_offset;  // resource and scope as they stand in a request: field 1 of ResourceSpans, then field
  std::uint64_t resource_bytes;   // 1 of ScopeSpans
  std::uint64_t scope_bytes;
  std::uint64_t redaction_bytes;  // then the keys whose text is redacted, one a line; 0: the library's own list
  std::uint64_t batch_offset;     // spans that have ended and are not exported yet: encoded ScopeSpans.spans elements
  std::uint64_t batch_room;       // of each batch; they follow one another
  std::atomic<std::uint64_t> batch_bytes[batch_count];
  std::uint64_t log_batch_offset;  // the same of log records: encoded ScopeLogs.log_records elements
  std::uint64_t log_batch_room;
  std::atomic<std::uint64_t> log_batch_bytes[batch_count];
  std::uint64_t trace_states_offset;  // StoredTraceState × trace_state_count: of equal traces the highest number holds
  std::atomic<std::uint64_t> trace_states_lost;  // for which there was no memory
  std::atomic<std::uint64_t> file_bytes;
  std::atomic<FileState> state;
  std::int32_t pid;
  std::int32_t rank;
  std::int32_t world_size;
  std::int32_t local_rank;
  ClockKind clock_kind;
  std::int64_t start_unix_ns;
  std::uint64_t identity_keys[3];  // span, trace high, trace low: see src/model/identity.h
  // The span that the process was started in, parent of all that have no other. All zero: none.
  std::uint64_t parent_trace[2];
  std::uint64_t parent_span;
  std::uint64_t parent_flags;
  StoredSpanLimits span_limits;
  StoredLogLimits log_limits;
  StoredSampler sampler;
  char run_id[128];
  char trace_directory[1024];  // where the file exporter writes, or would
  char trace_file[256];        // the name of its file there; empty with another exporter
  ClockCalibration clock;
  Counters counters;
  ExportFailure export_failure;
  ControlBlock control;
};

struct RingHeader {
  // Written by the recording thread.
  alignas(64) detail::RingHead head;
  std::atomic<std::uint64_t> dropped;       // spans that found no room
  std::atomic<std::uint64_t> lost_records;  // what was told of a span and found no room
  std::atomic<std::uint64_t> owner_first;   // where the present owner's records begin
  std::int32_t thread_id;
  // Written by the pipeline thread; positions below `tail` may be overwritten.
  alignas(64) std::atomic<std::uint64_t> tail;
  std::atomic<std::uint64_t> open_version;  // which of `open` is valid: its lowest bit; the other may be being written
  OpenList open[2];
  // Bytes reserved for the ends of scopes that ended on other threads: written by those.
  alignas(64) std::atomic<std::uint64_t> returned;
  // Fixed when the ring is made, but for the state.
  std::atomic<RingState> state;
  std::uint64_t data_offset;
  std::uint64_t data_bytes;   // a power of two
  std::uint64_t open_offset;  // two lists of `open_room` bytes
  std::uint64_t open_room;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<RingState>::is_always_lock_free);

}  // namespace lens::record
