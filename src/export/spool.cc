// SPDX-License-Identifier: Apache-2.0
#include "src/export/spool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "src/base/file.h"
#include "src/base/file_lock.h"
#include "src/base/unix_time.h"
#include "src/otlp/decode.h"
#include "src/otlp/request.h"

namespace lens::exporting {
namespace {

// Of small requests that share a file: files are few enough, and memory is not what one full request takes.
constexpr std::size_t most_shared_bytes = 64 << 10;
// What other processes have written is seen after this time at the latest, or when a small part of the bound has been
// written here.
constexpr std::chrono::seconds longest_unseen{1};
constexpr std::uint64_t small_part(std::uint64_t most_bytes) { return most_bytes / 64; }

/// Whether a later change would have another time: clocks of file systems are coarse, and those of others differ.
bool is_old(const timespec& changed) noexcept {
  constexpr time_t coarse_s = 2;
  return time(nullptr) - changed.tv_sec > coarse_s;
}

std::uint64_t drawn_writer() noexcept {
  std::uint64_t writer = 0;
  if (getrandom(&writer, sizeof writer, GRND_NONBLOCK) != sizeof writer)
    writer = base::unix_ns_now() ^ static_cast<std::uint64_t>(getpid()) << 48;
  return writer;
}

std::shared_ptr<const int> closed_with_its_last_holder(int file) {
  return {new int(file), [](const int* held) {
            close(*held);
            delete held;
          }};
}

}  // namespace

Spool::Spool(SpoolOptions options, ErrorSink on_error)
    : options_(std::move(options)),
      run_(spool_run(options_.run_id)),
      writer_(drawn_writer()),
      on_error_(std::move(on_error)) {}

Spool::~Spool() {
  for (OfSignal& one : of_signals_) forget(one.last);
}

// ---- in

bool Spool::add(const TwoPieces& message, std::uint64_t items, Signal signal) {
  if (!is_on()) return false;
  const std::string frame = framer_.frame(message.head, message.rest);
  if (frame.empty() || frame.size() > options_.most_bytes) {
    on_error_(frame.empty() ? "no memory to compress a request for the spool"
                            : "the spool is smaller than one request");
    return false;
  }
  make_room(frame.size());
  Last& last = of_signal(signal).last;
  if (!add_to(last, frame, message.size(), items)) {
    SpoolFile name{signal, base::unix_ns_now(), writer_, items, frame.size(), run_};
    const int file = write(name, frame);
    if (file < 0) return false;
    last = {file, std::move(name), message.size()};
  }
  used_bytes_ += frame.size();
  added_bytes_ += frame.size();
  return true;
}

bool Spool::add_alone(std::string_view message, std::uint64_t items, Signal signal) {
  forget(of_signal(signal).last);
  const bool added = add(message, items, signal);
  forget(of_signal(signal).last);
  return added;
}

/// Thousands of files of one span each would cost more than their spans. Not while it is being sent.
bool Spool::add_to(Last& last, std::string_view frame, std::size_t message_bytes, std::uint64_t items) {
  if (last.file < 0) return false;
  const std::string path = path_of(last.name.name());
  bool added = last.message_bytes + message_bytes <= most_shared_bytes &&
               last.name.bytes + frame.size() <= small_part(options_.most_bytes) &&
               lock(last.file, last.name.name()) == Found::ours;
  if (added) {
    SpoolFile name = last.name;
    name.items += items;
    name.bytes += frame.size();
    added = base::write_all(last.file, frame) && rename(path.c_str(), path_of(name.name()).c_str()) == 0;
    // What was half written goes again: the file is as its name says.
    if (!added) static_cast<void>(ftruncate(last.file, static_cast<off_t>(last.name.bytes)) == 0);
    if (added) last = {last.file, std::move(name), last.message_bytes + message_bytes};
    base::unlock_file(last.file);
  }
  if (!added) forget(last);
  return added;
}

/// The open file; -1 where it could not be written. It has its name only when it is whole.
int Spool::write(const SpoolFile& name, std::string_view frame, bool locked) {
  std::error_code uncreated;
  std::filesystem::create_directories(options_.directory, uncreated);
  // By the time in this name others tell whether who began it has died.
  SpoolFile begun_now = name;
  begun_now.begun_unix_ns = base::unix_ns_now();
  const std::string path = path_of(name.name()), unfinished = path_of('.' + begun_now.name());
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0 && locked) static_cast<void>(base::lock_file(file));  // nobody else has it yet
  if (file >= 0 && base::write_all(file, frame) && rename(unfinished.c_str(), path.c_str()) == 0) return file;
  const int why = file < 0 && uncreated ? uncreated.value() : errno;
  on_error_("cannot keep a request in the spool " + options_.directory + ": " + strerror(why));
  if (file < 0) return -1;
  close(file);
  unlink(unfinished.c_str());
  return -1;
}

void Spool::forget(Last& last) noexcept {
  if (last.file >= 0) close(last.file);
  last.file = -1;
}

void Spool::make_room(std::uint64_t bytes) {
  const bool is_stale = !looked_ || Clock::now() - *looked_ > longest_unseen ||
                        added_bytes_ + bytes > small_part(options_.most_bytes) ||
                        used_bytes_ + bytes > options_.most_bytes;
  if (!is_stale) return;
  SpoolListing listing = look();
  if (used_bytes_ + bytes <= options_.most_bytes) return;
  // A little more, so that the next request does not find it full again.
  const std::uint64_t wanted = options_.most_bytes - options_.most_bytes / 16;
  const auto is_full = [&] { return used_bytes_ + bytes > wanted; };
  bool dropped_ever = false;
  for (bool dropped_any = true; is_full() && dropped_any; listing = look()) {
    dropped_any = false;
    for (auto file = listing.oldest.begin(); file != listing.oldest.end() && is_full(); ++file)
      dropped_any |= drop(*file);
    dropped_ever |= dropped_any;
  }
  on_error_("the spool " + options_.directory + " is full; " +
            (dropped_ever ? "its oldest requests are dropped"
                          : "what lies there is being sent or cannot be opened, and stays"));
}

/// False where it stays: somebody is sending it, or it cannot be opened.
bool Spool::drop(const SpoolFile& file) {
  const std::string name = file.name();
  const auto [found, lock] = open_locked(name);
  if (found == Found::in_use) return false;
  if (found == Found::ours) {
    if (unlink(path_of(name).c_str()) == 0) count(of_signal(file.signal).dropped, file.items, file.writer == writer_);
    close(lock);
  }
  used_bytes_ -= std::min(used_bytes_, file.bytes);
  return true;
}

void Spool::count(Dropped& dropped, std::uint64_t items, bool own) noexcept {
  (own ? dropped.own : dropped.of_others) += items;
}

// ---- whose a file is

/// NFS locks only what is open for writing. A link or a FIFO that somebody put there must lead nowhere and hold nobody
/// up.
Spool::FoundFile Spool::open_locked(const std::string& name) {
  const int file = ::open(path_of(name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0 && (errno == ENOENT || errno == ESTALE)) return {Found::gone, -1};
  if (file < 0) {
    note_unusable(name);
    return {Found::in_use, -1};
  }
  const Found found = lock(file, name);
  if (found == Found::ours) return {found, file};
  close(file);
  return {found, -1};
}

/// Ours only if the file still has this name once it is locked: others send, drop and rename.
Spool::Found Spool::lock(int file, const std::string& name) {
  const std::string path = path_of(name);
  struct stat opened, named;
  const bool is_regular = fstat(file, &opened) == 0 && S_ISREG(opened.st_mode);
  const bool is_ours = is_regular && !is_given(name) && may_use(file, name) && stat(path.c_str(), &named) == 0 &&
                       opened.st_ino == named.st_ino;
  if (is_ours) return Found::ours;
  return access(path.c_str(), F_OK) == 0 ? Found::in_use : Found::gone;
}

bool Spool::may_use(int file, const std::string& name) {
  const base::FileLock lock = base::lock_file(file);
  if (lock == base::FileLock::none && !std::exchange(said_unlocked_, true))
    on_error_("the file system of the spool " + options_.directory + " has no locks (" + strerror(errno) +
              "): processes that share it may send a request twice; SPOOL_DIR names another place");
  if (lock == base::FileLock::failed) note_unusable(name);
  return lock == base::FileLock::taken || lock == base::FileLock::none;
}

/// A lock would not tell where there is none.
bool Spool::is_given(const std::string& name) {
  std::erase_if(given_, [](const auto& given) { return given.second.expired(); });
  return given_.contains(name);
}

SpooledRequest Spool::give(int file, const SpoolFile& name) {
  SpooledRequest request;
  request.file_ = closed_with_its_last_holder(file);
  request.name_ = name.name();
  request.signal_ = name.signal;
  request.items_ = name.items;
  request.own_ = name.writer == writer_;
  given_[request.name_] = request.file_;
  return request;
}

/// `errno` says why.
void Spool::note_unusable(const std::string& name) {
  if (unusable_files_++ == 0)
    on_error_(path_of(name) +
              " stays in the spool, and others may: it cannot be opened and locked: " + strerror(errno));
}

// ---- how full it is

SpoolListing Spool::look() {
  SpoolListing found = listing();
  used_bytes_ = found.bytes;
  added_bytes_ = 0;
  looked_ = Clock::now();
  return found;
}

SpoolListing Spool::listing(Signal signal) const {
  return list_spool(options_.directory, {.signal = signal, .run = run_, .writer = writer_});
}

// ---- out

std::optional<SpooledRequest> Spool::take(Signal signal) {
  if (!is_on()) return std::nullopt;
  auto& to_take = of_signal(signal).to_take;
  SpoolQuery query{.signal = signal, .run = run_, .to_take = true};
  const timespec changed = last_change();
  bool some_stay = false;
  for (bool is_all = false;;) {
    while (!to_take.empty()) {
      const SpoolFile file = std::move(to_take.front());
      to_take.pop_front();
      if (auto request = open(file)) return request;
      some_stay = some_stay || access(path_of(file.name()).c_str(), F_OK) == 0;
    }
    if (is_all) {
      of_signal(signal).exhausted = {Clock::now(), changed, !some_stay && is_old(changed)};
      return std::nullopt;
    }
    const auto files = list_spool(options_.directory, query).oldest;
    is_all = files.size() < SpoolListing::most_names;
    if (!files.empty()) query.after = files.back();
    to_take.assign(files.begin(), files.end());
  }
}

bool Spool::has_changed(Signal signal) {
  if (!is_on()) return false;
  Exhausted& exhausted = of_signal(signal).exhausted;
  const auto now = Clock::now();
  if (exhausted.asked && now - *exhausted.asked < longest_unseen) return false;
  exhausted.asked = now;
  const timespec changed = last_change();
  return !exhausted.certain || changed.tv_sec != exhausted.changed.tv_sec ||
         changed.tv_nsec != exhausted.changed.tv_nsec;
}

/// Of the directory: a name came or went. Zero where there is none.
timespec Spool::last_change() const noexcept {
  struct stat status;
  return stat(options_.directory.c_str(), &status) == 0 ? status.st_mtim : timespec{};
}

std::optional<SpooledRequest> Spool::open(const SpoolFile& file) {
  const std::string name = file.name(), path = path_of(name);
  const auto [found, lock] = open_locked(name);
  if (found != Found::ours) return std::nullopt;
  SpooledRequest request = give(lock, file);
  auto content = base::read_file(path);
  if (!content) {
    if (errno != ENOENT) note_unusable(name);  // where there are no locks it may have gone meanwhile
    return std::nullopt;
  }
  // Beyond that lies what is being added where there are no locks. Its writer finds this name gone, and puts it
  // elsewhere.
  content->resize(std::min<std::uint64_t>(content->size(), file.bytes));
  read(request, *content, file);
  if (request.items_ > 0 || request.damaged_items_ == 0) return request;
  remove(request);
  return std::nullopt;
}

/// A file survives the process, and not the loss of power: its end may be missing, or be something else.
void Spool::read(SpooledRequest& request, std::string_view frames, const SpoolFile& file) {
  otlp::Unframed read = otlp::unframed(frames);
  request.message_ = std::move(read.messages);
  if (read.bytes == file.bytes) return;
  try {
    request.items_ = std::min(otlp::item_count(request.message_), file.items);
  } catch (const otlp::DecodeError&) {
    request.items_ = 0;
  }
  request.damaged_items_ = file.items - request.items_;
  on_error_(path_of(request.name_) + " is damaged: " + std::to_string(request.damaged_items_) + " of its " +
            std::to_string(file.items) + ' ' + std::string(item_of(file.signal)) + "s are lost");
}

bool Spool::shorten(SpooledRequest& request, std::string rest, std::uint64_t items) {
  std::optional<SpoolFile> name = SpoolFile::of(request.name_);
  const std::string frame = framer_.frame(rest);
  if (!name || frame.empty()) return false;
  name->items = items;
  name->bytes = frame.size();
  const int file = write(*name, frame, true);
  if (file < 0) return false;
  remove(request);
  request = give(file, *name);
  request.message_ = std::move(rest);
  return true;
}

void Spool::remove(const SpooledRequest& request) noexcept {
  if (unlink(path_of(request.name_).c_str()) == 0)
    count(of_signal(request.signal_).damaged, request.damaged_items_, request.own_);
}

}  // namespace lens::exporting
