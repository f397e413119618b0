// SPDX-License-Identifier: Apache-2.0
// The interned names and attribute keys of the process. Ids are small, dense and valid for its whole life.
//
// Threads: `text` and `count` from any thread without a lock; interning takes a lock for a text not seen before.
#pragma once

#include <cstdint>
#include <string_view>

namespace lens::record {

class RingFile;

/// At most this many names; the next one is called "lens.too_many_names". A program that forms names at run time must
/// not take the memory of the process.
inline constexpr std::uint32_t max_names = 65'535;

class Names {
 public:
  static std::uint32_t intern(std::string_view text, std::uint64_t hash) noexcept;
  /// Ids run from 1 to count().
  static std::uint32_t count() noexcept;
  static std::string_view text(std::uint32_t id) noexcept;

  /// Names known by now and all that come are copied to `file`, each before anybody has its id, so that readers outside
  /// know every name that a record can have. Null: nowhere.
  static void publish_to(RingFile* file) noexcept;

  static void lock_for_fork();
  static void forget_file_after_fork() noexcept;  // in the child, while it is locked
  static void unlock_after_fork();
};

}  // namespace lens::record
