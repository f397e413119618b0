// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/batches.h"

#include <cstring>
#include <utility>

namespace lens::telemetry {

bool Batches::add(std::string_view element) noexcept {
  if (growing_ == memory_.used_bytes.size()) growing_ = find_free();
  if (growing_ == memory_.used_bytes.size()) return false;
  std::atomic<std::uint64_t>& used = memory_.used_bytes[growing_];
  const std::uint64_t before = used.load(std::memory_order_relaxed);
  if (element.size() > memory_.room - before) return false;
  if (count_++ == 0) began_ = std::chrono::steady_clock::now();
  std::memcpy(bytes() + before, element.data(), element.size());
  // Release: whoever finds the process dead sees whole items.
  used.store(before + element.size(), std::memory_order_release);
  return true;
}

exporting::Batch Batches::take() {
  std::atomic<std::uint64_t>& used = memory_.used_bytes[growing_];
  const std::string_view elements(reinterpret_cast<const char*>(bytes()), used.load(std::memory_order_relaxed));
  // Release: its bytes have been read, or are on disk, before it is filled anew and before a reader outside misses it.
  const auto free = [](std::atomic<std::uint64_t>* held) { held->store(0, std::memory_order_release); };
  exporting::Batch batch{elements, count_, {&used, free}};
  count_ = 0;
  growing_ = memory_.used_bytes.size();
  return batch;
}

std::size_t Batches::find_free() const noexcept {
  std::size_t number = 0;
  // Acquire: whoever had it has read it.
  while (number < memory_.used_bytes.size() && memory_.used_bytes[number].load(std::memory_order_acquire) != 0)
    ++number;
  return number;
}

}  // namespace lens::telemetry
