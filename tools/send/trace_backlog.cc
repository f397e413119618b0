// SPDX-License-Identifier: Apache-2.0
#include "tools/send/trace_backlog.h"

#include <algorithm>
#include <system_error>

#include "src/otlp/decode.h"
#include "src/otlp/request.h"

namespace lens::send {
namespace {

std::uint64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

bool may_hold_requests(const std::filesystem::path& file, Signal signal, std::vector<trace::Problem>& problems) try {
  trace::TraceFile messages(file, signal);
  while (const auto message = messages.next()) {
    try {
      if (otlp::item_count(*message) > 0) return true;
    } catch (const otlp::DecodeError& error) {
      messages.report(std::string("not an OTLP message: ") + error.what());
    }
  }
  problems.insert(problems.end(), messages.problems().begin(), messages.problems().end());
  return false;
} catch (const std::system_error&) {
  return true;
}

TraceBacklog::TraceBacklog(std::vector<std::filesystem::path> files, Signal signal, SentLog& log)
    : files_(std::move(files)), signal_(signal), log_(log) {
  for (const auto& path : files_) {
    const std::uint64_t size = size_of(path);
    total_bytes_ += size - std::min(size, log_.sent(path.filename().string()).bytes);
  }
}

std::optional<Backlog::Request> TraceBacklog::next() {
  while (file_ || open_next()) {
    request_bytes_ = file_->offset_bytes();
    auto message = file_->next();
    if (!message) {
      close();
      continue;
    }
    try {
      sent_items_ = std::exchange(items_to_skip_, 0);
      if (sent_items_ > 0) message = rest_ = otlp::without_first(*message, sent_items_);
      const std::uint64_t items = otlp::item_count(*message);
      if (items == 0) continue;  // such as a line of another signal
      if (unsettled_.empty() || unsettled_.back().first != name_) unsettled_.emplace_back(name_, 0);
      unsettled_.back().second = file_->offset_bytes();
      return Request{*message, items};
    } catch (const otlp::DecodeError& error) {
      file_->report(std::string("not an OTLP message: ") + error.what());
    }
  }
  return std::nullopt;
}

void TraceBacklog::settle() {
  for (const auto& [file, bytes] : unsettled_) log_.add(file, {bytes});
  unsettled_.clear();
}

void TraceBacklog::settle_first(std::uint64_t items) {
  auto last = std::move(unsettled_.back());
  unsettled_.pop_back();
  settle();
  log_.add(last.first, {request_bytes_, sent_items_ + items});
  unsettled_.push_back(std::move(last));
}

std::uint64_t TraceBacklog::passed() const {
  return closed_bytes_ + (file_ ? file_->offset_bytes() - begin_bytes_ : 0);
}

bool TraceBacklog::open_next() {
  while (!file_ && next_file_ < files_.size()) open(files_[next_file_++]);
  return file_.has_value();
}

void TraceBacklog::open(const std::filesystem::path& path) try {
  name_ = path.filename().string();
  const SentLog::Sent sent = log_.sent(name_);
  begin_bytes_ = sent.bytes;
  items_to_skip_ = sent.items;
  file_.emplace(path, signal_);
  const std::uint64_t size = file_->size_bytes();
  // The end of a last line that has none is counted all the same.
  if (begin_bytes_ > size + 1) {
    problems_.push_back(
        {path, size, "is shorter than what was sent of it before: it is another file now, and not sent"});
    ++unreadable_files_;
    file_.reset();
  } else if (begin_bytes_ > 0) {
    file_->seek(begin_bytes_);
  }
} catch (const std::system_error& error) {
  problems_.push_back({path, 0, error.code().message()});
  ++unreadable_files_;
}

void TraceBacklog::close() {
  problems_.insert(problems_.end(), file_->problems().begin(), file_->problems().end());
  closed_bytes_ += file_->offset_bytes() - begin_bytes_;
  file_.reset();
}

}  // namespace lens::send
