// SPDX-License-Identifier: Apache-2.0
// Prints one JSON object per line for every span: an OTLP/JSON request of that one span, with the signal's name before.
#pragma once

#include <string>

#include "src/export/exporter.h"
#include "src/otlp/envelope.h"

namespace lens::exporting {

class ConsoleExporter : public Exporter {
 public:
  /// Writes to the file descriptor, which it does not own.
  ConsoleExporter(int file, otlp::Envelope envelope, ErrorSink on_error)
      : file_(file), envelope_(std::move(envelope)), on_error_(std::move(on_error)) {}

  void export_spans(Batch batch) override;

 private:
  int file_;
  otlp::Envelope envelope_;
  ErrorSink on_error_;
};

}  // namespace lens::exporting
