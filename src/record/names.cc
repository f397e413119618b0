// SPDX-License-Identifier: Apache-2.0
#include "src/record/names.h"

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <string>

#include "lens/recorder.h"
#include "src/record/ring_file.h"

namespace lens {
namespace detail {

constinit std::atomic<std::uint64_t> name_cache[name_cache_size] = {};

std::uint32_t intern(std::string_view text, std::uint64_t hash) noexcept {
  const std::uint32_t id = record::Names::intern(text, hash);
  name_cache[hash % name_cache_size].store((hash & ~std::uint64_t{0xffffff}) | id, std::memory_order_relaxed);
  return id;
}

std::string_view interned_text(std::uint32_t id) noexcept { return record::Names::text(id); }

}  // namespace detail

namespace record {
namespace {

struct Entry {
  std::uint64_t hash;
  std::uint32_t id;
  std::string text;
};

// Open addressing over twice the names, so that a search always meets an empty slot. Entries live for ever.
constexpr std::size_t slot_count = 131'072;
constinit std::array<std::atomic<const Entry*>, slot_count> by_hash{};
constinit std::array<std::atomic<const Entry*>, max_names + 1> by_id{};
constinit std::atomic<std::uint32_t> used{0};
constinit std::mutex adding;
constinit RingFile* published_to = nullptr;  // under `adding`

const Entry* find(std::string_view text, std::uint64_t hash, std::size_t& slot) noexcept {
  // Acquire pairs with the release in `add`: an entry is complete before it is seen.
  for (slot = hash % slot_count;; slot = (slot + 1) % slot_count) {
    const Entry* entry = by_hash[slot].load(std::memory_order_acquire);
    if (!entry || (entry->hash == hash && entry->text == text)) return entry;
  }
}

std::uint32_t add(std::string_view text, std::uint64_t hash) {
  std::size_t slot;
  if (const Entry* entry = find(text, hash, slot)) return entry->id;
  const std::uint32_t id = used.load(std::memory_order_relaxed) + 1;
  const auto* entry = new Entry{hash, id, std::string(text)};
  // In the file before anybody can record it: a process may die at the next instruction.
  if (published_to) published_to->add_name(text);
  by_id[id].store(entry, std::memory_order_release);
  by_hash[slot].store(entry, std::memory_order_release);
  used.store(id, std::memory_order_release);
  return id;
}

std::uint32_t overflow_id() {
  static constexpr std::string_view text = "lens.too_many_names";
  return add(text, detail::text_hash(text.data(), text.size()));
}

}  // namespace

std::uint32_t Names::intern(std::string_view text, std::uint64_t hash) noexcept {
  std::size_t slot;
  if (const Entry* entry = find(text, hash, slot)) return entry->id;
  std::lock_guard lock(adding);
  try {
    const std::uint32_t overflow = overflow_id();  // takes its place first, while there is one
    return used.load(std::memory_order_relaxed) < max_names ? add(text, hash) : overflow;
  } catch (const std::bad_alloc&) {
    return 1;  // the first name is the overflow's, unless memory ran out before anything was recorded
  }
}

std::uint32_t Names::count() noexcept { return used.load(std::memory_order_acquire); }

std::string_view Names::text(std::uint32_t id) noexcept {
  const Entry* entry = id <= max_names ? by_id[id].load(std::memory_order_acquire) : nullptr;
  return entry ? std::string_view(entry->text) : std::string_view("lens.unknown_name");
}

void Names::publish_to(RingFile* file) noexcept {
  std::lock_guard lock(adding);
  published_to = file;
  if (!file) return;
  for (std::uint32_t id = 1; id <= count(); ++id) file->add_name(text(id));
}

void Names::forget_file_after_fork() noexcept { published_to = nullptr; }

void Names::lock_for_fork() { adding.lock(); }
void Names::unlock_after_fork() { adding.unlock(); }

}  // namespace record
}  // namespace lens
