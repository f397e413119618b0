// SPDX-License-Identifier: Apache-2.0
// Seeds derived from seeds: independent streams named by what they are for.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpt {

// The finaliser of SplitMix64: every input bit reaches every output bit.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr uint64_t derive_seed(uint64_t seed, uint64_t index) { return mix(mix(seed) ^ index); }

constexpr uint64_t derive_seed(uint64_t seed, std::string_view name) {
  for (const char c : name) seed = derive_seed(seed, static_cast<uint8_t>(c));
  return seed;
}

}  // namespace gpt
