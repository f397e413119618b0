// SPDX-License-Identifier: Apache-2.0
// What lives between set-up and shutdown.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "lens/telemetry.h"
#include "src/setup/plan.h"
#include "src/telemetry/pipeline.h"

namespace lens {

class Session {
 public:
  /// Starts recording when the plan says so. Throws std::invalid_argument when the exporter cannot be made.
  Session(const setup::Plan& plan, const Config& config);

  bool is_exporting() const noexcept { return pipeline_ != nullptr; }
  bool flush(std::chrono::milliseconds timeout) noexcept;
  /// A second call does nothing.
  void shutdown(std::chrono::milliseconds timeout) noexcept;
  TelemetryCounters counters() const noexcept;
  telemetry::Pipeline* pipeline() const noexcept { return pipeline_.get(); }

 private:
  std::chrono::milliseconds shutdown_timeout_;
  std::atomic<bool> shut_down_{false};
  std::unique_ptr<telemetry::Pipeline> pipeline_;
};

}  // namespace lens
