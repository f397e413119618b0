// SPDX-License-Identifier: Apache-2.0
// Writes a trace directory (docs/trace_directory.md): files of its own, named by rank, start and process. One that is
// full is followed by the next, whose name has a number.
//
// Errors: the constructor throws std::invalid_argument when the directory cannot be written. Later, a write that fails
//         (disk full) loses that message whole, never the file: what was written of it is cut off again. Where no next
//         file can be had, the full one goes on.
#pragma once

#include <string>

#include "src/export/exporter.h"
#include "src/model/signal.h"
#include "src/otlp/envelope.h"
#include "src/otlp/framing.h"

namespace lens::exporting {

struct FileExporterOptions {
  std::string directory;
  std::string directory_variable = "NEMO_LENS_FILE_DIR";  // that names it, for messages
  Signal signal = Signal::traces;
  bool json = false;  // one OTLP/JSON request a line; else length-prefixed zstd frames of OTLP protobuf
  int rank = 0;
  std::int64_t start_unix_ns = 0;
  std::uint64_t most_bytes = 0;  // in a file, unless one message is larger; 0: any number
};

class FileExporter : public Exporter {
 public:
  FileExporter(const FileExporterOptions& options, otlp::Envelope envelope, ErrorSink on_error);
  ~FileExporter() override;

  void export_batch(Batch batch) override;
  void finish(const FinalReport& report) override;
  ExporterIdentity identity() const override { return {"lens::exporting::FileExporter"}; }

  std::string path() const override { return path_; }

 private:
  std::string numbered_path(int number) const;
  void open_next();
  bool write_request(std::string_view request);
  bool write_message(std::string_view message);

  Signal signal_;
  bool json_;
  std::uint64_t most_bytes_;
  otlp::Envelope envelope_;
  ErrorSink on_error_;
  std::string stem_;  // of the files' paths
  std::string path_;  // of the one that is written
  std::string status_path_;
  int number_ = 1;
  bool said_no_next_ = false;
  int file_ = -1;
  std::uint64_t file_bytes_ = 0;
  otlp::Framer framer_;
  std::string json_line_;
};

}  // namespace lens::exporting
