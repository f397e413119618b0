// SPDX-License-Identifier: Apache-2.0
// Prints one JSON object per line for every span, every log record and every batch of metrics: an OTLP/JSON request
// with the signal's name before.
#pragma once

#include <string>

#include "src/export/exporter.h"
#include "src/model/signal.h"
#include "src/otlp/envelope.h"

namespace lens::exporting {

class ConsoleExporter : public Exporter {
 public:
  /// Writes to the file descriptor, which it does not own.
  ConsoleExporter(int file, Signal signal, otlp::Envelope envelope, ErrorSink on_error)
      : file_(file), signal_(signal), envelope_(std::move(envelope)), on_error_(std::move(on_error)) {}

  void export_batch(Batch batch) override;
  ExporterIdentity identity() const override { return {"lens::exporting::ConsoleExporter"}; }

 private:
  bool print(std::string_view elements);

  int file_;
  Signal signal_;
  otlp::Envelope envelope_;
  ErrorSink on_error_;
};

}  // namespace lens::exporting
