// SPDX-License-Identifier: Apache-2.0
// The recording process's own file of rings (layout.h), mapped, with room made for rings as threads come.
//
// Ownership: unmaps and closes on destruction; removes its name when told to.
// Errors:    `create` falls back to private memory where shared memory cannot be had; nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lens/context.h"
#include "src/record/layout.h"

namespace lens::record {

struct RingFileOptions {
  std::string directory;  // empty: private memory
  std::string name;
};

class RingFile {
 public:
  static constexpr std::uint32_t max_rings = 112;
  static constexpr std::uint64_t open_room = 1 << 20;      // most that a list of open spans takes
  static constexpr std::uint64_t first_open_bytes = 4096;  // what each of a ring's two has from the beginning

  /// Null when not even private memory can be had. `problem` says why a directory could not be used.
  static std::unique_ptr<RingFile> create(const RingFileOptions& options, std::string& problem);
  ~RingFile();
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;

  FileHeader& header() const noexcept { return *reinterpret_cast<FileHeader*>(base_); }
  /// Numbers begin at 1.
  RingHeader& ring(std::uint32_t number) const noexcept;
  /// The ring's bytes, mapped twice in a row.
  std::byte* data(std::uint32_t number) const noexcept { return data_[number]; }

  /// Reserves memory for ring `number` and maps it. False when there is none: a full shared-memory file system must
  /// show itself here, not as a SIGBUS when the ring is written.
  bool make_ring(std::uint32_t number) noexcept;

  /// Spans that are not exported yet, in memory that outlives the process. Room: header().batch_room of each.
  std::byte* batches() const noexcept { return base_ + header().batch_offset; }
  /// The same for log records, with so much room each: none before `reserve_log_batches`, nor where there is no memory.
  std::byte* log_batches() const noexcept { return base_ + header().log_batch_offset; }
  std::uint64_t log_batch_room() const noexcept { return has_log_batches_ ? header().log_batch_room : 0; }
  void reserve_log_batches() noexcept;
  /// Stores the tracestate of a trace for readers outside; beyond so many, the oldest makes room. One thread at a time.
  void add_trace_state(const TraceId& trace, std::string_view state) noexcept;
  /// Reserves memory for a ring's next list of open spans of so many bytes, gives back what was reserved for a much
  /// longer one, and returns what there is now, to be written to. All lists take `most_grown` at most beyond what they
  /// begin with. One thread at a time, as the next.
  std::span<std::byte> reserve_open(std::uint32_t number, std::uint64_t bytes, std::uint64_t most_grown) noexcept;
  /// Says that what a ring's open spans are is the same when everything before `tail` has been drained. False: it has
  /// to be stored anew, because it never was or to give memory back.
  bool advance_open(std::uint32_t number, std::uint64_t tail) noexcept;
  /// Says to readers outside that a ring's open spans are now in the first `bytes` of what `reserve_open` returned.
  void publish_open(std::uint32_t number, std::uint64_t tail, std::uint64_t bytes, bool complete) noexcept;

  /// Of resource, scope and the keys to redact together.
  static constexpr std::uint64_t envelope_room = 16 << 10;
  /// Stores resource and scope, as they stand in a request, and the keys to redact, one a line. They must fit.
  void set_envelope(std::string_view resource, std::string_view scope, std::string_view redacted_keys) noexcept;

  /// Says to readers outside since when nothing could be exported, and why; 0: all is well. One thread at a time.
  void publish_export_failure(std::int64_t since_unix_ns, std::string_view text) noexcept;

  /// Appends an interned name for readers outside; false when the region is full. One thread at a time.
  bool add_name(std::string_view text) noexcept;

  const std::string& path() const noexcept { return path_; }
  void remove_name() noexcept;

 private:
  RingFile(int file, std::byte* base, std::string path) noexcept;
  bool reserve_more(std::uint64_t from, std::uint64_t bytes) const noexcept;

  int file_;        // -1: private memory
  dev_t device_{};  // these tell it from another that got its number
  ino_t inode_{};
  std::byte* base_;
  std::byte* data_[max_rings + 1] = {};
  std::byte* open_[max_rings + 1] = {};                 // two lists of `open_room` bytes
  std::uint64_t open_reserved_[max_rings + 1][2] = {};  // of each list
  std::uint64_t open_grown_ = 0;                        // of all lists, beyond what they began with
  std::string path_;                                    // empty: private memory
  bool names_full_ = false;
  bool has_log_batches_ = false;
  bool has_trace_states_ = false;
  std::uint64_t trace_states_added_ = 0;
};

}  // namespace lens::record
