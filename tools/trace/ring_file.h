// SPDX-License-Identifier: Apache-2.0
// Reads the file of rings (docs/format.md) of a process on this machine, alive or dead. Include it to see what a
// process is in, or to take out what a dead one left.
//
// Ownership: owns its descriptor; nothing is mapped, so that a file that changes or shrinks cannot fault.
// Errors:    the constructor throws std::runtime_error for what is no such file; what is damaged inside is a problem,
//            and the rest is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/assemble/assembler.h"
#include "src/record/layout.h"

namespace lens::trace {

/// Facts of the header, by value.
struct RingFileFacts {
  std::string run_id;
  int pid = 0, rank = 0, world_size = 0, local_rank = 0;
  std::int64_t start_unix_ns = 0;
  record::FileState state = record::FileState::empty;
  std::string trace_directory, trace_file;
  std::uint64_t spans_recorded = 0, spans_exported = 0, spans_dropped = 0, spans_truncated = 0;
  double ns_per_tick = 1;
  assemble::ClockReading clock;
};

class RingFile {
 public:
  explicit RingFile(std::filesystem::path path);
  ~RingFile();
  RingFile(RingFile&& other) noexcept;
  RingFile& operator=(RingFile&&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

  /// Whether the process still holds its lock.
  bool is_alive() const;
  /// Takes a dead process's file, for as long as this object lives. False when the process lives, when somebody else
  /// has the file, or when its name is gone.
  bool claim() const;
  /// Reads header and names anew.
  RingFileFacts read_facts();
  /// Of an interned name, as of the last `read_facts`.
  std::string_view name(std::uint32_t id) const;
  /// How often `name` knew none: there was no room for it in the file.
  std::uint64_t unknown_name_count() const noexcept { return unknown_names_; }

  model::IdentityKeys keys() const;
  SpanContext started_in() const;
  assemble::TimeLine time_line() const;

  /// Whether there are batches or open spans: an orderly end leaves none.
  bool holds_anything() const;
  /// Spans that a dead process dropped since it last counted: to be added to spans_dropped.
  std::uint64_t read_uncounted_drops() const;

  /// Feeds an assembler that has seen nothing with every ring: what was open, then the records not drained yet.
  /// Returns the latest ticks seen; `problems` gets what could not be read.
  std::uint64_t feed(assemble::Assembler& assembler, assemble::SpanSink& sink, std::vector<std::string>& problems);

  /// Spans that are not exported yet, as encoded elements; and the parts of a request around them.
  std::string read_batch(std::size_t number, std::vector<std::string>& problems) const;
  std::string read_resource(std::vector<std::string>& problems) const;
  std::string read_scope(std::vector<std::string>& problems) const;
  /// The keys whose text is to be redacted.
  std::vector<std::string> read_redacted_keys(std::vector<std::string>& problems) const;

 private:
  struct RingCopy;

  std::string read(std::uint64_t offset, std::uint64_t bytes) const;
  std::string read_section(const char* what, std::uint64_t offset, std::uint64_t bytes,
                           std::vector<std::string>& problems) const;
  void read_header();
  const record::FileHeader& header() const;
  std::string read_ring_header(std::uint32_t number) const;
  std::uint32_t ring_count() const;
  std::optional<RingCopy> copy_ring(std::uint32_t number, std::vector<std::string>& problems) const;
  std::string copy_records(const record::RingHeader& ring, std::uint64_t from, std::uint64_t to) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_bytes_ = 0;
  std::string header_;
  std::vector<std::string> names_;
  bool names_complete_ = true;
  mutable std::uint64_t unknown_names_ = 0;
  RingFileFacts facts_;
};

/// The ring files below a directory, of one run or (empty) of all. Files that cannot be read are left out; `problems`
/// gets why.
std::vector<RingFile> find_ring_files(const std::filesystem::path& directory, const std::string& run_id,
                                      std::vector<std::string>* problems = nullptr);

}  // namespace lens::trace
