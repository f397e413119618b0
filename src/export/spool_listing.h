// SPDX-License-Identifier: Apache-2.0
// What lies in a spool directory, told from the names of its files: {unix ns}-{writer}-{items}-{bytes}-{run}.otlp.zst,
// behind `logs-` where the items are log records.
// Memory stays the same however many files there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/model/signal.h"

namespace lens::exporting {

struct SpoolFile {
  Signal signal = Signal::traces;
  std::uint64_t begun_unix_ns = 0;
  std::uint64_t writer = 0;  // drawn by whoever wrote it: process ids are not unique among containers
  std::uint64_t items = 0, bytes = 0;
  std::string run = {};  // as it stands in the name: see `spool_run`

  std::string name() const;
  auto age() const noexcept { return std::tuple(begun_unix_ns, writer, items, bytes); }  // the older, the less
  /// Nothing where the name is none of a spool's.
  static std::optional<SpoolFile> of(std::string_view name);
};

/// A run id, which may hold anything, as part of a file's name.
std::string spool_run(std::string run_id);

struct SpoolContents {
  std::uint64_t requests = 0, items = 0, bytes = 0;

  void add(const SpoolFile& file) noexcept {
    ++requests;
    items += file.items;
    bytes += file.bytes;
  }
};

struct SpoolListing {
  static constexpr std::size_t most_names = 64;

  std::uint64_t bytes = 0;                              // of everything
  SpoolContents all = {}, of_run = {}, of_writer = {};  // of the signal
  std::vector<SpoolFile> oldest = {};                   // the oldest first; no more than most_names
};

struct SpoolQuery {
  Signal signal = Signal::traces;
  std::string run = {};      // empty: all runs
  std::uint64_t writer = 0;  // whose files are counted apart
  bool to_take = false;      // list only files of the signal and the run, younger than `after`
  SpoolFile after = {};
};

/// Also clears away what processes that died had half written.
SpoolListing list_spool(const std::string& directory, const SpoolQuery& query);

}  // namespace lens::exporting
