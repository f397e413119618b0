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

#include "src/record/layout.h"

namespace lens::record {

struct RingFileOptions {
  std::string directory;  // empty: private memory
  std::string name;
};

class RingFile {
 public:
  static constexpr std::uint32_t max_rings = 192;

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

  /// Appends an interned name for readers outside; false when the region is full.
  bool add_name(std::string_view text) noexcept;

  const std::string& path() const noexcept { return path_; }
  void remove_name() noexcept;

 private:
  RingFile(int file, std::byte* base, std::string path) noexcept;

  int file_;
  std::byte* base_;
  std::byte* data_[max_rings + 1] = {};
  std::string path_;  // empty: private memory
};

}  // namespace lens::record
