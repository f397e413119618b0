// SPDX-License-Identifier: Apache-2.0
// Requests that could not be sent, kept in a bounded directory until they can: by this process, by the next one of the
// run, or by a program that empties it. One file a request, in the framing of a trace file, named
// {unix ns}-{pid}-{spans}-{bytes}-{run}.otlp.zst, so that a look at the directory tells all that is needed.
//
// Threads:   one at a time. Any number of processes may share the directory: whoever sends a file holds a lock on it.
// Errors:    what cannot be kept is lost, and the reason has gone to the error sink. Nothing is created before there is
//            something to keep.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "src/export/exporter.h"
#include "src/otlp/framing.h"

namespace lens::exporting {

struct SpoolOptions {
  std::string directory = {};
  std::uint64_t most_bytes = 0;  // of all runs together; 0: nothing is kept
  std::string run_id = {};       // empty: of whatever run, for who only takes
};

/// A request of the spool that this process may send: nobody else does while this lives.
class SpooledRequest {
 public:
  SpooledRequest(int file, std::string name, std::uint64_t spans, bool own, std::string message);
  SpooledRequest(SpooledRequest&& other) noexcept;
  SpooledRequest& operator=(SpooledRequest&&) = delete;
  ~SpooledRequest();

  const std::string& message() const noexcept { return message_; }
  std::uint64_t spans() const noexcept { return spans_; }
  bool is_own() const noexcept { return own_; }  // this process put it there

 private:
  friend class Spool;
  int file_;  // locked
  std::string name_;
  std::uint64_t spans_;
  bool own_;
  std::string message_;
};

class Spool {
 public:
  Spool(SpoolOptions options, ErrorSink on_error);

  bool is_on() const noexcept { return options_.most_bytes > 0 && !options_.directory.empty(); }
  const std::string& directory() const noexcept { return options_.directory; }

  /// Keeps a request, if need be in place of the oldest ones. False when it is lost.
  bool add(std::string_view message, std::uint64_t spans);
  /// The oldest request of the run that nobody is sending.
  std::optional<SpooledRequest> take();

  /// It has been sent, or never will be.
  void remove(const SpooledRequest& request) noexcept;

  /// Of all runs together.
  std::uint64_t used_bytes() const;
  struct Contents {
    std::uint64_t requests = 0, spans = 0, bytes = 0;
  };
  /// What lies there now of the run.
  Contents contents() const;
  /// Spans of this process's that lie in the spool.
  std::uint64_t own_spans() const;
  /// Spans that this process had put there and that made room for newer ones, since the last call.
  std::uint64_t take_dropped() noexcept { return std::exchange(dropped_, 0); }

 private:
  struct File {
    std::string name;
    std::uint64_t spans, bytes;
    bool of_this_run;
  };

  std::deque<File> files() const;
  void look();
  std::optional<File> parse(std::string_view name) const;
  void make_room(std::uint64_t bytes);
  bool write(const std::string& name, std::string_view frame);
  std::optional<SpooledRequest> open(const File& file);

  SpoolOptions options_;
  std::string run_;  // as it stands in names
  ErrorSink on_error_;
  otlp::Framer framer_;
  // What the last look at the directory found and what has been added since: looking each time would cost a core where
  // thousands of files lie. Too much at worst, as others send and remove.
  std::deque<File> known_;  // the oldest first
  std::uint64_t known_bytes_ = 0;
  bool looked_ = false;
  std::unordered_set<std::string> own_;
  std::uint64_t dropped_ = 0;
};

}  // namespace lens::exporting
