// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/trace.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <stdexcept>
#include <string>
#include <system_error>

#include "src/otlp/request.h"

namespace lens::trace {
namespace {

namespace fs = std::filesystem;

enum class Role { spans, metrics, logs, status, other };

// Files that hold spans by their name or may do so by their content; what belongs to a run beside them is known.
Role role_of(const std::string& name) {
  if (name.starts_with("status-") && name.ends_with(".json")) return Role::status;
  bool is_rank_log = name.starts_with("rank") && name.ends_with(".log");
  if (name.starts_with("metrics-")) return Role::metrics;
  if (name.starts_with("logs-")) return Role::logs;
  if (name == "run.json" || name.starts_with('.') || is_rank_log) return Role::other;
  return Role::spans;
}

// The files of one process one after the other, in the order in which it wrote them: spans come in the order in which
// they ended, and what was recovered ended last.
struct WriteOrder {
  std::string process = {};
  bool is_recovered = false;
  int number = 1;
  std::string name = {};

  auto operator<=>(const WriteOrder&) const = default;
};

WriteOrder write_order(const fs::path& file) {
  constexpr std::string_view recovered = "-recovered";
  WriteOrder order{.name = file.filename().string()};
  const std::size_t point = std::min(order.name.find('.'), order.name.size());
  order.process = order.name.substr(0, point);
  order.is_recovered = order.process.ends_with(recovered);
  if (order.is_recovered) order.process.resize(order.process.size() - recovered.size());
  // What is no number leaves it at 1.
  if (point < order.name.size())
    std::from_chars(order.name.data() + point + 1, order.name.data() + order.name.size(), order.number);
  return order;
}

void add_status(Trace& trace, const fs::path& file) try {
  trace.statuses.push_back(read_status_file(file));
} catch (const std::invalid_argument& error) {
  trace.problems.push_back({file, 0, error.what()});
}

void add_file(Trace& trace, const fs::path& file) {
  switch (role_of(file.filename().string())) {
    case Role::spans: trace.files.push_back(file); break;
    case Role::metrics: trace.metrics_files.push_back(file); break;
    case Role::logs: trace.logs_files.push_back(file); break;
    case Role::status: add_status(trace, file); break;
    case Role::other: break;
  }
}

void read_run(Trace& trace) try { trace.run = read_run_file(trace.path); } catch (const std::invalid_argument& error) {
  trace.problems.push_back({trace.path / "run.json", 0, error.what()});
}

void read_file(const fs::path& path, otlp::TraceDecoder& decoder, otlp::TraceVisitor& visitor, ReadResult& result) try {
  TraceFile file(path);
  bool has_spans = false;
  while (auto message = file.next()) {
    try {
      decoder.decode(*message, visitor);
      has_spans = has_spans || !message->empty();  // a line of another signal is an empty trace
    } catch (const otlp::DecodeError& error) {
      file.report(std::string("not a trace message: ") + error.what());
    }
  }
  if (has_spans) {
    ++result.file_count;
    result.size_bytes += file.size_bytes();
  }
  result.problems.insert(result.problems.end(), file.problems().begin(), file.problems().end());
} catch (const std::system_error& error) {
  result.problems.push_back({path, 0, error.code().message()});
}

void count_log_records(const fs::path& path, LogsReadResult& result) try {
  TraceFile file(path, Signal::logs);
  while (const auto message = file.next()) {
    try {
      result.record_count += otlp::item_count(*message);
    } catch (const otlp::DecodeError& error) {
      file.report(std::string("not a message of log records: ") + error.what());
    }
  }
  result.problems.insert(result.problems.end(), file.problems().begin(), file.problems().end());
} catch (const std::system_error& error) {
  result.problems.push_back({path, 0, error.code().message()});
}

}  // namespace

Trace open_trace(const fs::path& path) {
  Trace trace;
  trace.path = path;
  if (!fs::exists(path)) throw std::invalid_argument(path.string() + " does not exist");
  if (!fs::is_directory(path)) {
    add_file(trace, path);
    return trace;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files, {}, write_order);
  for (const fs::path& file : files) add_file(trace, file);
  read_run(trace);
  return trace;
}

ReadResult read_spans(const Trace& trace, TraceVisitor& visitor) {
  ReadResult result;
  otlp::TraceDecoder decoder;
  for (const fs::path& file : trace.files) read_file(file, decoder, visitor, result);
  return result;
}

LogsReadResult count_log_records(const Trace& trace) {
  LogsReadResult result;
  for (const fs::path& path : trace.logs_files) count_log_records(path, result);
  return result;
}

std::optional<fs::path> newest_run(const fs::path& parent) {
  std::optional<fs::path> newest;
  fs::file_time_type newest_time;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.is_directory(ignored)) continue;
    auto time = entry.last_write_time(ignored);
    if (!newest || std::pair(time, entry.path()) > std::pair(newest_time, *newest)) {
      newest = entry.path();
      newest_time = time;
    }
  }
  return newest;
}

}  // namespace lens::trace
