// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/quantiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lens::analyze {
namespace {

constexpr std::size_t max_samples = 1024;

// Each power of two is cut into 128 buckets of equal width, so a bucket is at most 1/128 of its values wide and its
// middle at most 0.4 % off. Values below 256 have a bucket of their own.
constexpr int mantissa_bits = 7;
constexpr std::uint64_t buckets_per_octave = 1u << mantissa_bits;

int shift_of(std::uint64_t value) { return std::max(0, static_cast<int>(std::bit_width(value)) - (mantissa_bits + 1)); }

std::size_t bucket_of(std::uint64_t value) {
  int shift = shift_of(value);
  return static_cast<std::size_t>(shift) * buckets_per_octave + static_cast<std::size_t>(value >> shift);
}

std::uint64_t middle_of(std::size_t bucket) {
  if (bucket < 2 * buckets_per_octave) return bucket;
  std::size_t shift = bucket / buckets_per_octave - 1;
  std::uint64_t mantissa = bucket % buckets_per_octave + buckets_per_octave;
  return (mantissa << shift) + (std::uint64_t{1} << shift) / 2;
}

}  // namespace

void Quantiles::add(std::uint64_t value) {
  ++count_;
  if (!buckets_.empty()) return add_to_buckets(value);
  samples_.push_back(value);
  if (samples_.size() <= max_samples) return;
  for (std::uint64_t sample : samples_) add_to_buckets(sample);
  samples_ = {};
}

void Quantiles::add_to_buckets(std::uint64_t value) {
  std::size_t bucket = bucket_of(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
}

std::uint64_t Quantiles::at(double fraction) const {
  if (count_ == 0) return 0;
  auto rank = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  rank = std::clamp<std::uint64_t>(rank, 1, count_);
  if (buckets_.empty()) {
    auto sorted = samples_;
    auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::ranges::nth_element(sorted, nth);
    return *nth;
  }
  std::size_t bucket = 0;
  for (std::uint64_t seen = buckets_[0]; seen < rank; seen += buckets_[bucket]) ++bucket;
  return middle_of(bucket);
}

}  // namespace lens::analyze
