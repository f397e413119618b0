// SPDX-License-Identifier: Apache-2.0
// Metrics as values: what an instrument has added up since it was made, one point for each set of attributes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lens/resource.h"

namespace lens::model {

using Attributes = ResourceAttributes;

enum class MetricKind {
  counter,          // only grows
  up_down_counter,  // a sum that may fall: amounts of different processes add up
  gauge,            // the last value
  histogram,
};

struct NumberPoint {
  Attributes attributes = {};
  std::variant<std::int64_t, double> value = {};
};

/// How often each range of values came. Bucket i takes what is <= bounds[i] and more than the bound before; one more
/// bucket takes the rest.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), buckets_(bounds_.size() + 1) {}

  void record(double value) noexcept {
    ++buckets_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
    ++count_;
    sum_ += value;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }

  const std::vector<double>& bounds() const noexcept { return bounds_; }
  const std::vector<std::uint64_t>& buckets() const noexcept { return buckets_; }
  std::uint64_t count() const noexcept { return count_; }
  double sum() const noexcept { return sum_; }
  // Of something: meaningless while the count is 0.
  double least() const noexcept { return least_; }
  double most() const noexcept { return most_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

struct HistogramPoint {
  Attributes attributes = {};
  Histogram histogram;
};

struct Metric {
  std::string name;
  MetricKind kind = MetricKind::counter;
  std::string unit = {};  // of UCUM: s, By, {span}
  std::string description = {};
  std::vector<NumberPoint> numbers = {};        // of any kind but histogram
  std::vector<HistogramPoint> histograms = {};  // of a histogram

  std::size_t point_count() const noexcept { return numbers.size() + histograms.size(); }
};

}  // namespace lens::model
