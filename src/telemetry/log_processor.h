// SPDX-License-Identifier: Apache-2.0
// Log records on their way from the rings to their exporter: encoded, and gathered into batches.
//
// Threads:   one at a time: the pipeline's.
// Errors:    std::bad_alloc only; what is lost is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lens/config.h"
#include "src/assemble/assembler.h"
#include "src/export/exporter.h"
#include "src/record/recorder.h"
#include "src/telemetry/batches.h"

namespace lens::telemetry {

/// The log records of a session. Every one that was made is in one of these counts.
struct LogCounts {
  std::uint64_t batched = 0;    // in a batch that still grows
  std::uint64_t processed = 0;  // handed to the exporter
  std::uint64_t dropped = 0;    // found no room in the ring of their thread, or it had none

  std::uint64_t created() const noexcept { return batched + processed + dropped; }
};

class LogProcessor {
 public:
  struct Options {
    BatchConfig batch;
    otlp::Limits limits;
    std::vector<std::string> redacted_keys;
  };

  /// The recorder has started: batches lie in its file.
  LogProcessor(Options options, std::unique_ptr<exporting::Exporter> exporter);

  void add(const otlp::LogRecord& record);
  /// Exports what has waited long enough, and drives what is under way.
  void poll();

  /// What has been added goes at once; `is_flushed` tells when it is sent, kept on disk or lost.
  void flush();
  bool is_flushed() const { return !flush_is_due_ && exporter_->is_flushed(); }
  /// Sends until `send_until`, then keeps the rest on disk until `keep_until`, and gives up what is left.
  void drain(exporting::Exporter::TimePoint send_until, exporting::Exporter::TimePoint keep_until);

  LogCounts counts() const noexcept;
  const exporting::Exporter& exporter() const noexcept { return *exporter_; }

 private:
  bool is_due() const;
  void export_batch();
  void export_alone();

  Options options_;
  std::unique_ptr<exporting::Exporter> exporter_;
  otlp::LogEncoder encoder_;
  Batches batches_;
  std::string encoded_;  // one record
  std::uint64_t processed_ = 0;
  std::uint64_t dropped_before_ = record::Recorder::instance().dropped_logs();  // rings outlive a session
  bool flush_is_due_ = false;
};

}  // namespace lens::telemetry
