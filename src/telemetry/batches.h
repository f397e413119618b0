// SPDX-License-Identifier: Apache-2.0
// Batches of encoded spans or log records, in the file of rings, so that they outlive the process: one grows, the
// others are held by the exporter until they are sent, kept on disk or lost.
//
// Threads: one at a time: the pipeline's. An exporter may let go of a batch on any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/export/exporter.h"

namespace lens::telemetry {

/// Where they lie: one after the other, each with the number of bytes that are used of its room; a free one's is 0.
struct BatchMemory {
  std::byte* first;
  std::uint64_t room;
  std::span<std::atomic<std::uint64_t>> used_bytes;
};

class Batches {
 public:
  explicit Batches(BatchMemory memory) noexcept : memory_(memory), growing_(find_free()) {}

  /// Adds an item to the batch that grows. False when it finds no room there, or the exporter holds all batches.
  bool add(std::string_view element) noexcept;
  /// The batch that grows, for the exporter; another one grows from now on.
  exporting::Batch take();

  /// Of the batch that grows.
  std::uint64_t count() const noexcept { return count_; }
  std::chrono::steady_clock::duration age() const noexcept { return std::chrono::steady_clock::now() - began_; }

 private:
  std::size_t find_free() const noexcept;
  std::byte* bytes() const noexcept { return memory_.first + growing_ * memory_.room; }

  BatchMemory memory_;
  std::size_t growing_;  // none when it is the number of batches
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::time_point began_{};
};

}  // namespace lens::telemetry
