// SPDX-License-Identifier: Apache-2.0
#include "src/export/spool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "src/base/file.h"

namespace lens::exporting {
namespace {

constexpr std::string_view suffix = ".otlp.zst";
constexpr std::size_t longest_run_name = 120;
// A file under its first name is being written, unless whoever did has died.
constexpr std::chrono::minutes longest_write{1};

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A run id may hold anything.
std::string file_name_of(std::string run) {
  std::ranges::replace_if(
      run, [](unsigned char c) { return c <= ' ' || c == '/' || c == 0x7f; }, '_');
  return run.substr(0, longest_run_name);
}

bool read_number(std::string_view& name, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '-') return false;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
  return true;
}

/// Locked, and still there once it is; -1 when somebody else has it.
int open_locked(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &status) == 0 && status.st_nlink > 0) return file;
  if (file >= 0) close(file);
  return -1;
}

}  // namespace

SpooledRequest::SpooledRequest(int file, std::string name, std::uint64_t spans, bool own, std::string message)
    : file_(file), name_(std::move(name)), spans_(spans), own_(own), message_(std::move(message)) {}

SpooledRequest::SpooledRequest(SpooledRequest&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      name_(std::move(other.name_)),
      spans_(other.spans_),
      own_(other.own_),
      message_(std::move(other.message_)) {}

SpooledRequest::~SpooledRequest() {
  if (file_ >= 0) close(file_);
}

Spool::Spool(SpoolOptions options, ErrorSink on_error)
    : options_(std::move(options)), run_(file_name_of(options_.run_id)), on_error_(std::move(on_error)) {}

bool Spool::add(std::string_view message, std::uint64_t spans) {
  if (!is_on()) return false;
  const std::string_view frame = framer_.frame(message);
  if (frame.empty() || frame.size() > options_.most_bytes) {
    on_error_(frame.empty() ? "no memory to compress spans for the spool" : "the spool is smaller than one request");
    return false;
  }
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  make_room(frame.size());
  std::string name = std::to_string(unix_ns()) + '-' + std::to_string(getpid()) + '-' + std::to_string(spans) + '-' +
                     std::to_string(frame.size()) + '-' + run_ + std::string(suffix);
  if (!write(name, frame)) return false;
  known_.push_back({name, spans, frame.size(), true});
  known_bytes_ += frame.size();
  own_.insert(std::move(name));
  return true;
}

// It has its name only when it is whole.
bool Spool::write(const std::string& name, std::string_view frame) {
  const std::string path = options_.directory + '/' + name, unfinished = options_.directory + "/." + name;
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written = file >= 0 && base::write_all(file, frame);
  if (file >= 0) close(file);
  written = written && rename(unfinished.c_str(), path.c_str()) == 0;
  if (written) return true;
  on_error_("cannot keep spans in the spool " + options_.directory + ": " + strerror(errno));
  if (file >= 0) unlink(unfinished.c_str());
  return false;
}

void Spool::make_room(std::uint64_t bytes) {
  if (!looked_ || known_bytes_ + bytes > options_.most_bytes) look();
  if (known_bytes_ + bytes <= options_.most_bytes) return;
  // A little more, so that the next request does not find it full again.
  const std::uint64_t wanted = options_.most_bytes - options_.most_bytes / 16;
  std::erase_if(known_, [&](const File& file) {
    if (known_bytes_ + bytes <= wanted) return false;
    const std::string path = options_.directory + '/' + file.name;
    const int lock = open_locked(path);
    if (lock < 0) return false;  // being sent
    if (unlink(path.c_str()) == 0 && own_.erase(file.name) > 0) dropped_ += file.spans;
    close(lock);
    known_bytes_ -= file.bytes;
    return true;
  });
  on_error_("the spool " + options_.directory + " is full; its oldest spans are dropped");
}

void Spool::look() {
  known_ = files();
  known_bytes_ = 0;
  for (const File& file : known_) known_bytes_ += file.bytes;
  looked_ = true;
}

std::optional<Spool::File> Spool::parse(std::string_view name) const {
  File file{std::string(name), 0, 0, false};
  std::uint64_t time = 0, pid = 0;
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  if (!read_number(name, time) || !read_number(name, pid) || !read_number(name, file.spans) ||
      !read_number(name, file.bytes))
    return std::nullopt;
  file.of_this_run = run_.empty() || name == run_;
  return file;
}

/// The oldest first. Foreign files are none of ours.
std::deque<Spool::File> Spool::files() const {
  std::deque<File> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(options_.directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (auto file = parse(name)) {
      files.push_back(std::move(*file));
    } else if (name.starts_with('.') && parse(std::string_view(name).substr(1))) {
      const auto age = std::chrono::nanoseconds(unix_ns() - std::atoll(name.c_str() + 1));
      if (age > longest_write) unlink(entry->path().c_str());
    }
  }
  // Times have the same number of digits for the next 260 years.
  std::ranges::sort(files, {}, &File::name);
  return files;
}

std::optional<SpooledRequest> Spool::take() {
  if (!is_on()) return std::nullopt;
  for (const bool known : {true, false}) {
    if (!known) look();
    while (!known_.empty()) {
      const File file = std::move(known_.front());
      known_.pop_front();
      if (!file.of_this_run) continue;
      if (auto request = open(file)) return request;
    }
  }
  return std::nullopt;
}

std::optional<SpooledRequest> Spool::open(const File& file) {
  const std::string path = options_.directory + '/' + file.name;
  const int lock = open_locked(path);
  if (lock < 0) return std::nullopt;
  const auto content = base::read_file(path);
  auto message = content ? otlp::unframed(*content) : std::nullopt;
  SpooledRequest request(lock, file.name, file.spans, own_.contains(file.name), message ? std::move(*message) : "");
  if (message) return request;
  on_error_(path + " is damaged, and removed from the spool");
  if (request.is_own()) dropped_ += file.spans;
  remove(request);
  return std::nullopt;
}

void Spool::remove(const SpooledRequest& request) noexcept {
  unlink((options_.directory + '/' + request.name_).c_str());
  own_.erase(request.name_);
}

std::uint64_t Spool::used_bytes() const {
  std::uint64_t bytes = 0;
  for (const File& file : files()) bytes += file.bytes;
  return bytes;
}

Spool::Contents Spool::contents() const {
  Contents contents;
  for (const File& file : files()) {
    if (!file.of_this_run) continue;
    ++contents.requests;
    contents.spans += file.spans;
    contents.bytes += file.bytes;
  }
  return contents;
}

std::uint64_t Spool::own_spans() const {
  std::uint64_t spans = 0;
  for (const File& file : files())
    if (own_.contains(file.name)) spans += file.spans;
  return spans;
}

}  // namespace lens::exporting
