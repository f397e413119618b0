// SPDX-License-Identifier: Apache-2.0
// Requests that could not be sent, kept in a bounded directory until they can: by this process, by the next one of the
// run, or by a program that empties it. One file a request, in the framing of a trace file, with a name that tells all
// that is needed (spool_listing.h); small requests share a file, and are sent as one.
//
// Threads:   one at a time. Any number of processes may share the directory: whoever sends a file holds a lock on it.
//            Where the file system has no locks two may send the same, and nothing is lost.
// Errors:    what cannot be kept is lost, and the reason has gone to the error sink. Nothing is created before there is
//            something to keep.
#pragma once

#include <time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/export/exporter.h"
#include "src/export/request_body.h"
#include "src/export/spool_listing.h"
#include "src/otlp/framing.h"

namespace lens::exporting {

struct SpoolOptions {
  std::string directory = {};
  std::uint64_t most_bytes = 0;  // of all processes and runs together; 0: nothing is kept
  std::string run_id = {};       // empty: of whatever run, for who only takes
};

/// A request of the spool that this process may send: where files can be locked nobody else does while this lives.
class SpooledRequest {
 public:
  SpooledRequest(SpooledRequest&&) noexcept = default;
  SpooledRequest& operator=(SpooledRequest&&) noexcept = default;

  const std::string& message() const noexcept { return message_; }
  std::uint64_t items() const noexcept { return items_; }
  /// What its file held beside them, and nobody can read.
  std::uint64_t damaged_items() const noexcept { return damaged_items_; }
  bool is_own() const noexcept { return own_; }  // this process put it there

 private:
  friend class Spool;
  SpooledRequest() = default;

  std::shared_ptr<const int> file_ = {};  // locked; the spool tells by it whether this lives
  std::string name_ = {};
  Signal signal_ = Signal::traces;
  std::uint64_t items_ = 0, damaged_items_ = 0;
  bool own_ = false;
  std::string message_ = {};
};

class Spool {
 public:
  Spool(SpoolOptions options, ErrorSink on_error);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  bool is_on() const noexcept { return options_.most_bytes > 0 && !options_.directory.empty(); }
  const std::string& directory() const noexcept { return options_.directory; }
  std::uint64_t most_bytes() const noexcept { return options_.most_bytes; }

  /// Keeps a request, if need be in place of the oldest ones. False when it is lost.
  bool add(const TwoPieces& message, std::uint64_t items, Signal signal = Signal::traces);
  bool add(std::string_view message, std::uint64_t items, Signal signal = Signal::traces) {
    return add(TwoPieces{{}, message}, items, signal);
  }
  /// The same, in a file of its own: half of what was too large must not be joined to the other half.
  bool add_alone(std::string_view message, std::uint64_t items, Signal signal = Signal::traces);
  /// The oldest request of the run that nobody is sending.
  std::optional<SpooledRequest> take(Signal signal = Signal::traces);
  /// Whether there may be something to take though `take` found nothing: others have written meanwhile, or are sending
  /// and may die. Looks once a second, whoever asks how often.
  bool has_changed(Signal signal = Signal::traces);

  /// What is left of it takes its place, in its file and here. False where it cannot be written: all of it stays.
  bool shorten(SpooledRequest& request, std::string rest, std::uint64_t items);
  /// It has been sent, or never will be. What was damaged of it counts as that now.
  void remove(const SpooledRequest& request) noexcept;

  /// What lies there now, of everybody.
  SpoolListing listing(Signal signal = Signal::traces) const;
  /// What lies there now of the run.
  SpoolContents contents(Signal signal = Signal::traces) const { return listing(signal).of_run; }
  /// Items of this process's that lie in the spool.
  std::uint64_t own_items(Signal signal = Signal::traces) const { return listing(signal).of_writer.items; }

  struct Dropped {
    std::uint64_t own = 0, of_others = 0;
  };
  /// Items that made room for newer ones by this object's hand, since the last call.
  Dropped take_dropped(Signal signal = Signal::traces) { return std::exchange(of_signal(signal).dropped, {}); }
  /// Items that could not be read of files that this object removed, since the last call.
  Dropped take_damaged(Signal signal = Signal::traces) { return std::exchange(of_signal(signal).damaged, {}); }
  /// How often a file could not be opened or locked, though nobody was sending it. It stays.
  std::uint64_t unusable_files() const noexcept { return unusable_files_; }

 private:
  using Clock = std::chrono::steady_clock;

  /// The file that was written last, to which what is small may be added.
  struct Last {
    int file = -1;
    SpoolFile name = {};
    std::size_t message_bytes = 0;
  };

  /// The directory when `take` found nothing.
  struct Exhausted {
    std::optional<Clock::time_point> asked = {};
    timespec changed = {};
    bool certain = false;  // what changed it was seen, and is all there was
  };

  struct OfSignal {
    Last last = {};
    std::deque<SpoolFile> to_take = {};
    Exhausted exhausted = {};
    Dropped dropped = {}, damaged = {};
  };

  enum class Found { ours, in_use, gone };

  struct FoundFile {
    Found found;
    int file;
  };

  OfSignal& of_signal(Signal signal) noexcept { return of_signals_.at(signal == Signal::logs ? 1 : 0); }
  SpoolListing look();
  void make_room(std::uint64_t bytes);
  bool drop(const SpoolFile& file);
  bool add_to(Last& last, std::string_view frame, std::size_t message_bytes, std::uint64_t items);
  int write(const SpoolFile& name, std::string_view frame, bool locked = false);
  static void forget(Last& last) noexcept;
  FoundFile open_locked(const std::string& name);
  Found lock(int file, const std::string& name);
  bool may_use(int file, const std::string& name);
  bool is_given(const std::string& name);
  void note_unusable(const std::string& name);
  SpooledRequest give(int file, const SpoolFile& name);
  void read(SpooledRequest& request, std::string_view frames, const SpoolFile& file);
  std::optional<SpooledRequest> open(const SpoolFile& file);
  timespec last_change() const noexcept;
  std::string path_of(const std::string& name) const { return options_.directory + '/' + name; }
  static void count(Dropped& dropped, std::uint64_t items, bool own) noexcept;

  SpoolOptions options_;
  std::string run_;       // as it stands in names
  std::uint64_t writer_;  // whose files are own ones
  ErrorSink on_error_;
  otlp::SmallFramer framer_;
  // As the last look found it, and what has happened since: looking each time would cost a core where thousands of
  // files lie.
  std::uint64_t used_bytes_ = 0, added_bytes_ = 0;
  std::optional<Clock::time_point> looked_;
  std::array<OfSignal, 2> of_signals_;
  std::map<std::string, std::weak_ptr<const int>> given_;  // which files living requests hold, by name
  bool said_unlocked_ = false;
  std::uint64_t unusable_files_ = 0;
};

}  // namespace lens::exporting
