// SPDX-License-Identifier: Apache-2.0
// A trace as it lies on disk: a directory that the ranks of a run wrote, or a single file. Include this to find its
// files and to stream their spans to a visitor; memory does not grow with the trace.
//
// Errors: a path that is not there throws std::invalid_argument; everything else that cannot be read is a problem
//         that names its file, and the rest is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "src/otlp/decode.h"
#include "tools/trace/run_file.h"
#include "tools/trace/trace_file.h"

namespace lens::trace {

// Spans are what OTLP has them to be; who analyses a trace need not know the bytes.
using otlp::AttributeValue, otlp::Encoded, otlp::Span, otlp::StatusCode, otlp::TraceVisitor;
using otlp::decode_event, otlp::find_attribute;

struct Trace {
  std::filesystem::path path;
  std::optional<RunFile> run;
  std::vector<Status> statuses;              // one per process that shut down in order
  std::vector<std::filesystem::path> files;  // that hold, or seem to hold, spans; those of a process as it wrote them
  std::vector<std::filesystem::path> metrics_files, logs_files;
  std::vector<Problem> problems;  // found while looking
};

Trace open_trace(const std::filesystem::path& path);

struct ReadResult {
  std::uint64_t file_count = 0;  // that hold spans
  std::uint64_t size_bytes = 0;  // of these
  std::vector<Problem> problems;
};

/// Every span of every file to `visitor`, file by file, each file in its order.
ReadResult read_spans(const Trace& trace, TraceVisitor& visitor);

struct LogsReadResult {
  std::uint64_t record_count = 0;
  std::vector<Problem> problems;
};

/// How many log records there are.
LogsReadResult count_log_records(const Trace& trace);

/// The run directory under `parent` that changed last.
std::optional<std::filesystem::path> newest_run(const std::filesystem::path& parent);

}  // namespace lens::trace
