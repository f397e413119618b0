// SPDX-License-Identifier: Apache-2.0
// Reads the file of rings (docs/format.md) of a process on this machine, alive or dead. Include it to see what a
// process is in, or to take out what a dead one left.
//
// Ownership: owns its descriptor.
// Errors:    the constructor throws std::runtime_error for what is no such file; what is damaged inside is a problem,
//            and the rest is read.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/assemble/assembler.h"
#include "src/record/layout.h"
#include "tools/trace/shared_file.h"

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
  std::int64_t export_failing_since_unix_ns = 0;  // 0: all is well
  std::string export_failure;
};

class RingFile {
 public:
  explicit RingFile(std::filesystem::path path);

  const std::filesystem::path& path() const noexcept { return file_.path(); }
  bool is_alive() const { return file_.is_alive(); }
  bool claim() const { return file_.claim(); }

  /// Reads header and names anew.
  RingFileFacts read_facts();
  /// As they were read last.
  const RingFileFacts& facts() const noexcept { return facts_; }
  /// Of an interned name, as of the last `read_facts` or `feed`.
  std::string_view name(std::uint32_t id) const;
  /// `problems` gets how many names `name` was asked for that are not in the file, if there are any.
  void tell_unknown_names(std::vector<std::string>& problems) const;

  model::IdentityKeys keys() const;
  SpanContext started_in() const;
  /// That of one that keeps every trace where it cannot be read.
  model::TraceSampler read_sampler(std::vector<std::string>& problems) const;
  otlp::Limits span_limits() const;
  /// Those of attributes and values hold.
  otlp::Limits log_limits() const;
  assemble::TimeLine time_line() const;

  /// Whether there are batches or open spans: an orderly end leaves none.
  bool holds_anything() const;
  /// How many forks lie between the process and the one that set telemetry up; nothing when it has no ring yet.
  std::optional<int> fork_count() const;
  /// Spans that the process has dropped since it last counted: to be added to spans_dropped. They were not counted when
  /// the process died, nor are they while its pipeline stands still.
  std::uint64_t read_uncounted_drops() const;

  /// Feeds an assembler that has seen nothing with every ring: what was open, then the records not drained yet.
  /// Returns the latest ticks seen; `problems` gets what could not be read. Reads the names anew behind the rings, so
  /// that those of a live process's latest records are among them.
  std::uint64_t feed(assemble::Assembler& assembler, assemble::SpanSink& sink, std::vector<std::string>& problems);

  /// Spans that are not exported yet, as encoded elements; and the parts of a request around them.
  std::string read_batch(std::size_t number, std::vector<std::string>& problems) const;
  /// The same of log records.
  std::string read_log_batch(std::size_t number, std::vector<std::string>& problems) const;
  std::string read_resource(std::vector<std::string>& problems) const;
  std::string read_scope(std::vector<std::string>& problems) const;
  /// The W3C tracestate of the traces that began elsewhere.
  using TraceStates = std::map<std::array<std::uint8_t, 16>, std::string>;
  TraceStates read_trace_states(std::vector<std::string>& problems) const;
  /// The keys whose text is to be redacted.
  std::vector<std::string> read_redacted_keys(std::vector<std::string>& problems) const;

 private:
  struct RingCopy;

  std::string read_section(const char* what, std::uint64_t offset, std::uint64_t bytes,
                           std::vector<std::string>& problems) const;
  void read_header();
  void tell_clock(bool has_records, std::vector<std::string>& problems) const;
  void read_names();
  const record::FileHeader& header() const;
  std::string read_ring_header(std::uint32_t number) const;
  std::uint32_t ring_count() const;
  /// Passes over those whose header cannot be read.
  template <class F>
  void for_each_ring(const F& see) const;
  std::uint64_t bytes_of_no_ring() const;
  std::optional<RingCopy> copy_ring(std::uint32_t number, std::vector<std::string>& problems);
  std::string copy_records(const record::RingHeader& ring, std::uint64_t from, std::uint64_t to) const;

  SharedFile file_;
  std::string header_;
  bool is_clock_whole_ = true;
  std::vector<std::string> names_;
  bool names_complete_ = true;
  mutable std::set<std::uint32_t> unknown_names_;  // ids
  RingFileFacts facts_;
};

/// The ring files below a directory, of one run or (empty) of all. Files that cannot be read are left out; `problems`
/// gets why.
std::vector<RingFile> find_ring_files(const std::filesystem::path& directory, const std::string& run_id,
                                      std::vector<std::string>* problems = nullptr);

}  // namespace lens::trace
