// SPDX-License-Identifier: Apache-2.0
// How ids follow from places in the rings: nothing needs to be stored for them, and whoever has a process's keys and a
// record's position, inside or outside, finds the same id.
#pragma once

#include <cstdint>

#include "lens/context.h"

namespace lens::model {

/// Random, drawn once per process (anew after fork) from the system, so that no seed of the application reaches it.
struct IdentityKeys {
  std::uint64_t span = 0;
  std::uint64_t trace_high = 0;
  std::uint64_t trace_low = 0;
};

/// A bijection of 64-bit words without visible pattern (the finaliser of splitmix64).
constexpr std::uint64_t mixed(std::uint64_t word) noexcept {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return word ^ word >> 31;
}

constexpr std::uint64_t big_endian(std::uint64_t word) noexcept {
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(word) : word;
}

/// The id as it lies in memory. Distinct for distinct positions; the one position that mixes to zero takes the key.
constexpr std::uint64_t span_word(std::uint64_t position, const IdentityKeys& keys) noexcept {
  const std::uint64_t word = mixed(position + keys.span);
  return word != 0 ? word : keys.span | 1;
}

struct TraceWords {
  std::uint64_t high;
  std::uint64_t low;
};

/// The reverse of `mixed`.
constexpr std::uint64_t unmixed(std::uint64_t word) noexcept {
  word = (word ^ word >> 31 ^ word >> 62) * 0x319642b2d24d8ec3u;
  word = (word ^ word >> 27 ^ word >> 54) * 0x96de1b173f119089u;
  return word ^ word >> 30 ^ word >> 60;
}

/// The position whose span has this id, if it is one of this process; any other id gives some other word.
constexpr std::uint64_t position_of(std::uint64_t span_word, const IdentityKeys& keys) noexcept {
  return unmixed(span_word) - keys.span;
}

/// The trace that the root span at `position` begins.
constexpr TraceWords trace_words(std::uint64_t position, const IdentityKeys& keys) noexcept {
  const std::uint64_t low = mixed(position ^ keys.trace_low);
  return {mixed(position + keys.trace_high), low != 0 ? low : 1};
}

/// The same the other way.
inline std::uint64_t word_of(const SpanId& id) noexcept { return __builtin_bit_cast(std::uint64_t, id); }
inline TraceWords words_of(const TraceId& id) noexcept { return __builtin_bit_cast(TraceWords, id); }

inline SpanId span_id_of(std::uint64_t word) noexcept { return __builtin_bit_cast(SpanId, word); }
inline TraceId trace_id_of(TraceWords words) noexcept { return __builtin_bit_cast(TraceId, words); }

}  // namespace lens::model
