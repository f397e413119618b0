// SPDX-License-Identifier: Apache-2.0
#include "src/export/file_exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "src/base/file.h"
#include "src/otlp/json.h"

namespace lens::exporting {
namespace {

// Level 1 compresses spans as well as level 3, and takes half the time.
constexpr int compression_level = 1;
constexpr std::size_t length_bytes = 4;

std::string unusable(const std::string& path, const std::string& reason) {
  return "cannot write traces to " + path + ": " + reason + "; set FILE_DIR to a directory that can be written";
}

void create_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw std::invalid_argument(unusable(directory, error.message()));
}

}  // namespace

FileExporter::FileExporter(const FileExporterOptions& options, otlp::TraceEnvelope envelope, ErrorSink on_error)
    : json_(options.json), envelope_(std::move(envelope)), on_error_(std::move(on_error)) {
  create_directory(options.directory);
  const std::string name = "rank" + std::to_string(options.rank) + "-" +
                           std::to_string(options.start_unix_ns / 1'000'000) + "-" + std::to_string(getpid());
  path_ = options.directory + "/traces-" + name + (json_ ? ".jsonl" : ".otlp.zst");
  status_path_ = options.directory + "/status-" + name + ".json";
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::invalid_argument(unusable(path_, strerror(errno)));
  if (!json_) {
    zstd_.reset(ZSTD_createCCtx());
    ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, compression_level);
    ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_checksumFlag, 1);
  }
}

FileExporter::~FileExporter() { close(file_); }

std::uint64_t FileExporter::export_spans(std::string_view spans, std::uint64_t count) {
  const std::string request = envelope_.request(spans);
  message_.clear();
  if (json_) {
    otlp::append_traces_json(message_, request);
    message_ += '\n';
  } else {
    message_.resize(length_bytes + ZSTD_compressBound(request.size()));
    const std::size_t compressed = ZSTD_compress2(zstd_.get(), message_.data() + length_bytes,
                                                  message_.size() - length_bytes, request.data(), request.size());
    if (ZSTD_isError(compressed)) {
      on_error_(std::string("compressing spans: ") + ZSTD_getErrorName(compressed));
      return 0;
    }
    message_.resize(length_bytes + compressed);
    for (std::size_t i = 0; i < length_bytes; ++i)
      message_[i] = static_cast<char>(compressed >> 8 * (length_bytes - 1 - i));
  }
  return write_message(message_) ? count : 0;
}

bool FileExporter::write_message(std::string_view message) {
  if (base::write_all(file_, message)) {
    file_bytes_ += message.size();
    return true;
  }
  const int error = errno;
  on_error_(path_ + ": " + strerror(error) + "; spans are dropped until it can be written again");
  // Cut the torn message off, so that the next one can be read.
  if (ftruncate(file_, off_t(file_bytes_)) != 0 || lseek(file_, off_t(file_bytes_), SEEK_SET) < 0)
    on_error_(path_ + ": the torn message stays: " + strerror(errno));
  return false;
}

void FileExporter::finish(const FinalCounters& counters) {
  const std::string status = "{\"spans_recorded\":" + std::to_string(counters.recorded) +
                             ",\"spans_exported\":" + std::to_string(counters.exported) +
                             ",\"spans_dropped\":" + std::to_string(counters.dropped) +
                             ",\"spans_truncated\":" + std::to_string(counters.truncated) + "}\n";
  const int file = open(status_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || !base::write_all(file, status)) on_error_(status_path_ + ": " + strerror(errno));
  if (file >= 0) close(file);
}

}  // namespace lens::exporting
