// SPDX-License-Identifier: Apache-2.0
// Sends metrics each so often. What fails is not sent again: values are cumulative, so the next request says it all.
//
// Threads:   one at a time: the pipeline's.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "src/export/exporter.h"
#include "src/model/metric.h"

namespace lens::exporting {

class MetricReader {
 public:
  MetricReader(std::chrono::milliseconds interval, std::unique_ptr<Exporter> exporter);

  bool is_due() const noexcept { return std::chrono::steady_clock::now() >= due_; }
  /// The next ones are due an interval from now.
  void send(const std::vector<model::Metric>& metrics);

  Exporter& exporter() const noexcept { return *exporter_; }

 private:
  std::chrono::milliseconds interval_;
  std::unique_ptr<Exporter> exporter_;
  std::uint64_t start_unix_ns_;
  std::chrono::steady_clock::time_point due_;
};

}  // namespace lens::exporting
