// SPDX-License-Identifier: Apache-2.0
#include "src/base/md5.h"

#include <bit>
#include <cmath>
#include <cstddef>

namespace lens::base {
namespace {

constexpr std::size_t block_bytes = 64;
using State = std::array<std::uint32_t, 4>;

/// The standard's table T: the fraction of |sin(i + 1)| in 32 bits.
std::array<std::uint32_t, 64> sine_table() {
  std::array<std::uint32_t, 64> table{};
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<std::uint32_t>(std::floor(std::ldexp(std::fabs(std::sin(static_cast<double>(i + 1))), 32)));
  return table;
}

std::uint32_t load_little_endian(const char* bytes) {
  std::uint32_t word = 0;
  for (int i = 3; i >= 0; --i) word = word << 8 | static_cast<std::uint8_t>(bytes[i]);
  return word;
}

/// The function and the word of the block that step `i` mixes in: F, G, H and I of the standard, one for each round.
std::uint32_t mixed(std::size_t i, std::uint32_t b, std::uint32_t c, std::uint32_t d, const char* block) {
  std::uint32_t value = 0;
  std::size_t word = 0;
  switch (i / 16) {
    case 0: value = (b & c) | (~b & d), word = i; break;
    case 1: value = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
    case 2: value = b ^ c ^ d, word = (3 * i + 5) % 16; break;
    default: value = c ^ (b | ~d), word = 7 * i % 16; break;
  }
  return value + load_little_endian(block + 4 * word);
}

void add_block(State& state, const char* block) {
  static const auto sines = sine_table();
  static constexpr int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  auto [a, b, c, d] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t turned = std::rotl(a + mixed(i, b, c, d, block) + sines[i], shifts[i / 16][i % 4]);
    a = d, d = c, c = b, b += turned;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

}  // namespace

Md5Digest md5(std::string_view message) {
  std::string padded{message};
  padded += '\x80';
  while (padded.size() % block_bytes != block_bytes - 8) padded += '\0';
  for (int i = 0; i < 8; ++i) padded += static_cast<char>(std::uint64_t{message.size()} * 8 >> 8 * i);

  State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t at = 0; at < padded.size(); at += block_bytes) add_block(state, padded.data() + at);

  Md5Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::uint8_t>(state[i / 4] >> 8 * (i % 4));
  return digest;
}

std::string hex(const Md5Digest& digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace lens::base
