// SPDX-License-Identifier: Apache-2.0
// The recording process's own file of rings (layout.h), mapped, with room made for rings as threads come.
//
// Ownership: unmaps and closes on destruction; removes its name when told to.
// Errors:    `create` falls back to private memory where shared memory cannot be had; nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/record/layout.h"

namespace lens::record {

struct RingFileOptions {
  std::string directory;  // empty: private memory
  std::string name;
};

class RingFile {
 public:
  static constexpr std::uint32_t max_rings = 112;

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

  /// Spans that are not exported yet, in memory that outlives the process. Room: header().batch_room.
  std::byte* batch(std::size_t number) const noexcept {
    return base_ + header().batch_offset + number * header().batch_room;
  }
  /// Stores what a ring's open spans are, for readers outside; cut where it does not fit.
  void publish_open(std::uint32_t number, std::uint64_t tail, std::string_view entries, bool complete) noexcept;
  std::uint64_t open_room(std::uint32_t number) const noexcept { return ring(number).open_room; }

  /// Stores resource and scope, as they stand in a request, and the keys to redact, one a line. False when they do not
  /// fit: what is recovered of this process will lack them, and be redacted by the library's own list.
  bool set_envelope(std::string_view resource, std::string_view scope, std::string_view redacted_keys) noexcept;

  /// Appends an interned name for readers outside; false when the region is full. One thread at a time.
  bool add_name(std::string_view text) noexcept;

  const std::string& path() const noexcept { return path_; }
  void remove_name() noexcept;

 private:
  RingFile(int file, std::byte* base, std::string path) noexcept;

  int file_;
  std::byte* base_;
  std::byte* data_[max_rings + 1] = {};
  std::byte* open_[max_rings + 1] = {};
  std::string path_;  // empty: private memory
  bool names_full_ = false;
};

}  // namespace lens::record
