// SPDX-License-Identifier: Apache-2.0
// How far a run is: read from the lines that the ranks print, and from the counters that they share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tools/trace/ring_file.h"

namespace lens::launch {

struct Iteration {
  std::int64_t number = 0, total = 0;
  std::optional<double> step_time_ms = std::nullopt, loss = std::nullopt;
};

/// Of a line such as " iteration 10/ 100 | elapsed time per iteration (ms): 12.3 | lm loss: 2.3E+00 |"; nothing of
/// others.
std::optional<Iteration> parse_iteration(std::string_view line);

struct SpanCounts {
  std::uint64_t recorded = 0, dropped = 0;
};

/// What the ranks of a run counted so far, from the headers of their shared memory. A file of rings that was seen once
/// is held open: its process removes it when it ends, and what it counted last can be read all the same.
class SharedCounters {
 public:
  SharedCounters(std::filesystem::path shm_dir, std::string run_id)
      : shm_dir_(std::move(shm_dir)), run_id_(std::move(run_id)) {}

  /// Nothing while no rank has been seen.
  std::optional<SpanCounts> read();

 private:
  std::filesystem::path shm_dir_;
  std::string run_id_;
  struct Rank {
    std::optional<trace::RingFile> rings;  // nothing once it has counted for the last time
    SpanCounts counts;
  };

  std::map<std::filesystem::path, Rank> ranks_;
};

/// One line on how far the run is: "iteration 10/100 · 12.3 ms a step · loss 2.3 · 1234 spans, 0 dropped".
/// Empty when nothing is known yet.
std::string progress_text(const std::optional<Iteration>& iteration, const std::optional<SpanCounts>& spans);

}  // namespace lens::launch
