// SPDX-License-Identifier: Apache-2.0
// What lives between set-up and shutdown.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "lens/telemetry.h"
#include "src/setup/plan.h"
#include "src/telemetry/pipeline.h"

namespace lens {

class Session {
 public:
  /// Starts recording when the plan says so. Throws std::invalid_argument when the exporter cannot be made.
  Session(const setup::Plan& plan, const Config& config);

  bool is_exporting() const noexcept { return plan_.exports; }
  bool is_tracing() const noexcept { return plan_.records_spans; }
  bool flush(std::chrono::milliseconds timeout) noexcept;
  /// A second call does nothing.
  void shutdown(std::chrono::milliseconds timeout) noexcept;
  TelemetryCounters counters() const noexcept;
  telemetry::Pipeline* pipeline() const noexcept { return pipeline_.get(); }

  /// In a forked child: the pipeline and what it works on are the parent's.
  void forget_pipeline() noexcept;
  /// In a forked child that records: a pipeline and files of its own.
  void restart_in_child() noexcept;

 private:
  void start();
  std::string fit_resource(record::RecorderOptions& recording) const;
  void say_unfinished(std::chrono::milliseconds timeout) const noexcept;

  setup::Plan plan_;
  Config config_;
  std::atomic<bool> shut_down_{false};
  std::unique_ptr<telemetry::Pipeline> pipeline_;
  std::optional<TelemetryCounters> final_counters_;  // once shut down: the file that counts is closed then
};

}  // namespace lens
