// SPDX-License-Identifier: Apache-2.0
// Quantiles of durations: exact up to 1024 samples, then within 0.4 % in bounded memory (at most 58 KiB).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lens::analyze {

class Quantiles {
 public:
  void add(std::uint64_t value);

  /// The smallest sample that at least `fraction` of all samples do not exceed; 0 when there are none.
  std::uint64_t at(double fraction) const;

  std::uint64_t count() const noexcept { return count_; }

 private:
  void add_to_buckets(std::uint64_t value);

  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> samples_;  // until there are too many
  std::vector<std::uint64_t> buckets_;  // from then on: how many samples each holds
};

}  // namespace lens::analyze
