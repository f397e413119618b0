// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/log_processor.h"

#include <utility>

#include "src/record/names.h"

namespace lens::telemetry {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds longest_wait{4};

BatchMemory log_batches_of(record::RingFile& file) noexcept {
  return {file.log_batches(), file.log_batch_room(), file.header().log_batch_bytes};
}

}  // namespace

LogProcessor::LogProcessor(Options options, std::unique_ptr<exporting::Exporter> exporter)
    : options_(std::move(options)),
      exporter_(std::move(exporter)),
      encoder_(record::Names::text, options_.limits, options_.redacted_keys),
      batches_(log_batches_of(*record::Recorder::instance().file())) {}

void LogProcessor::add(const otlp::LogRecord& record) {
  encoded_.clear();
  encoder_.encode(record, encoded_);
  if (!batches_.add(encoded_)) {
    export_batch();
    if (!batches_.add(encoded_)) return export_alone();
  }
  if (batches_.count() == options_.batch.max_export_batch_size) export_batch();
}

void LogProcessor::export_batch() {
  if (batches_.count() == 0) return;
  processed_ += batches_.count();
  exporter_->export_batch(batches_.take());
}

/// A record that no batch has room for.
void LogProcessor::export_alone() {
  auto memory = std::make_shared<const std::string>(encoded_);
  const std::string_view element = *memory;
  ++processed_;
  exporter_->export_batch({element, 1, std::move(memory)});
}

bool LogProcessor::is_due() const {
  return flush_is_due_ || (batches_.count() > 0 && batches_.age() >= options_.batch.schedule_delay);
}

// Where there is no room for another batch this one goes on growing.
void LogProcessor::poll() {
  if (is_due() && exporter_->is_ready()) {
    export_batch();
    if (std::exchange(flush_is_due_, false)) exporter_->flush();
  }
  exporter_->poll();
}

void LogProcessor::flush() {
  flush_is_due_ = true;
  poll();
}

void LogProcessor::drain(steady_clock::time_point send_until, steady_clock::time_point keep_until) {
  while (!exporter_->is_ready() && steady_clock::now() < send_until) {
    exporter_->poll();
    exporter_->wait(-1, longest_wait);
  }
  export_batch();
  flush_is_due_ = false;
  exporter_->drain(send_until, keep_until);
  exporter_->finish({});
}

LogCounts LogProcessor::counts() const noexcept {
  return {batches_.count(), processed_, record::Recorder::instance().dropped_logs() - dropped_before_};
}

}  // namespace lens::telemetry
