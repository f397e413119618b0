// SPDX-License-Identifier: Apache-2.0
// What of the files of a trace directory has not been sent yet, in their order. Memory holds one message at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/send/backlog.h"
#include "tools/send/sent_log.h"
#include "tools/trace/trace_file.h"

namespace lens::send {

/// Whether a file holds something to send, or cannot be opened; what cannot be read in it goes to `problems`.
bool may_hold_requests(const std::filesystem::path& file, Signal signal, std::vector<trace::Problem>& problems);

class TraceBacklog : public Backlog {
 public:
  /// Files of one signal, of one directory; the log must outlive this.
  TraceBacklog(std::vector<std::filesystem::path> files, Signal signal, SentLog& log);

  std::optional<Request> next() override;
  void settle() override;
  void settle_first(std::uint64_t items) override;
  std::uint64_t total() const override { return total_bytes_; }
  std::uint64_t passed() const override;

  /// What could not be read.
  const std::vector<trace::Problem>& problems() const noexcept { return problems_; }
  /// Of files that could not be read at all.
  std::uint64_t unreadable_files() const noexcept { return unreadable_files_; }

 private:
  bool open_next();
  void open(const std::filesystem::path& path);
  void close();

  std::vector<std::filesystem::path> files_;
  Signal signal_;
  SentLog& log_;
  std::size_t next_file_ = 0;
  std::optional<trace::TraceFile> file_;
  std::string name_;                                              // of the file
  std::uint64_t total_bytes_ = 0, closed_bytes_ = 0;              // what was sent before is not among them
  std::uint64_t begin_bytes_ = 0;                                 // where sending began in the file
  std::uint64_t request_bytes_ = 0;                               // where the request begins that was given last
  std::uint64_t items_to_skip_ = 0;                               // of the next request: sent before
  std::uint64_t sent_items_ = 0;                                  // the same of the last one
  std::string rest_;                                              // of it, where some of it was
  std::vector<std::pair<std::string, std::uint64_t>> unsettled_;  // how far each file was given
  std::vector<trace::Problem> problems_;
  std::uint64_t unreadable_files_ = 0;
};

}  // namespace lens::send
