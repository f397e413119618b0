// SPDX-License-Identifier: Apache-2.0
#include "src/export/file_exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "src/base/file.h"
#include "src/otlp/json.h"

namespace lens::exporting {
namespace {

[[noreturn]] void reject(const FileExporterOptions& options, const std::string& path, const std::string& reason) {
  throw std::invalid_argument("cannot write traces to " + path + ": " + reason + "; set " + options.directory_variable +
                              " to a directory that can be written");
}

std::string json_list(const GroupSet& names) {
  std::string list = "[";
  for (const std::string& name : names) {
    if (list.size() > 1) list += ',';
    otlp::append_json_text(list, name);
  }
  return list + ']';
}

/// -1 where it is there already.
int create(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }

}  // namespace

FileExporter::FileExporter(const FileExporterOptions& options, otlp::Envelope envelope, ErrorSink on_error)
    : signal_(options.signal),
      json_(options.json),
      most_bytes_(options.most_bytes),
      envelope_(std::move(envelope)),
      on_error_(std::move(on_error)) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) reject(options, options.directory, error.message());
  const std::string name = "rank" + std::to_string(options.rank) + "-" +
                           std::to_string(options.start_unix_ns / 1'000'000) + "-" + std::to_string(getpid());
  stem_ = options.directory + "/" + std::string(signal_name(signal_)) + "-" + name;
  path_ = numbered_path(number_);
  status_path_ = options.directory + "/status-" + name + ".json";
  file_ = create(path_);
  if (file_ < 0) reject(options, path_, strerror(errno));
}

FileExporter::~FileExporter() { close(file_); }

std::string FileExporter::numbered_path(int number) const {
  return stem_ + (number == 1 ? "" : "." + std::to_string(number)) + (json_ ? ".jsonl" : ".otlp.zst");
}

void FileExporter::open_next() {
  std::string path = numbered_path(number_ + 1);
  const int file = create(path);
  if (file < 0) {
    if (!std::exchange(said_no_next_, true)) on_error_(path + ": " + strerror(errno) + "; " + path_ + " goes on");
    return;
  }
  close(file_);
  file_ = file;
  file_bytes_ = 0;
  path_ = std::move(path);
  ++number_;
  said_no_next_ = false;
}

void FileExporter::export_batch(Batch batch) {
  const auto began = std::chrono::steady_clock::now();
  const std::string cause = write_request(envelope_.request(batch.elements)) ? "" : "write_failed";
  if (cause.empty()) counts_.exported += batch.count;
  if (!cause.empty()) count_lost(batch.count, cause);
  count_duration(std::chrono::steady_clock::now() - began, cause);
}

bool FileExporter::write_request(std::string_view request) {
  if (!json_) {
    const std::string_view frame = framer_.frame(request);
    if (frame.empty()) on_error_("no memory to compress " + std::string(signal_name(signal_)));
    return !frame.empty() && write_message(frame);
  }
  json_line_.clear();
  otlp::append_json(json_line_, signal_, request);
  json_line_ += '\n';
  return write_message(json_line_);
}

bool FileExporter::write_message(std::string_view message) {
  const bool is_full = most_bytes_ > 0 && file_bytes_ > 0 && file_bytes_ + message.size() > most_bytes_;
  if (is_full) open_next();
  if (base::write_all(file_, message)) {
    file_bytes_ += message.size();
    note_success();
    return true;
  }
  const int error = errno;
  note_failure(path_ + ": " + strerror(error));
  on_error_(last_failure_ + "; " + std::string(signal_name(signal_)) + " are dropped until it can be written again");
  // Cut the torn message off, so that the next one can be read.
  if (ftruncate(file_, off_t(file_bytes_)) != 0 || lseek(file_, off_t(file_bytes_), SEEK_SET) < 0)
    on_error_(path_ + ": the torn message stays: " + strerror(errno));
  return false;
}

void FileExporter::finish(const FinalReport& report) {
  if (signal_ != Signal::traces) return;
  const std::string status = "{\"spans_recorded\":" + std::to_string(report.recorded) +
                             ",\"spans_exported\":" + std::to_string(report.exported) +
                             ",\"spans_dropped\":" + std::to_string(report.dropped) +
                             ",\"spans_truncated\":" + std::to_string(report.truncated) +
                             ",\"spans_sampled_out\":" + std::to_string(report.sampled_out) +
                             ",\"groups_with_spans\":" + json_list(report.groups_with_spans) +
                             ",\"groups_without_spans\":" + json_list(report.groups_without_spans) + "}\n";
  const int file = open(status_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || !base::write_all(file, status)) on_error_(status_path_ + ": " + strerror(errno));
  if (file >= 0) close(file);
}

}  // namespace lens::exporting
