// SPDX-License-Identifier: Apache-2.0
#include "src/record/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <new>

#include "src/base/file.h"

namespace lens::record {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

constexpr std::uint64_t rings_offset = whole_pages(sizeof(FileHeader));
constexpr std::uint64_t names_offset = rings_offset + whole_pages(RingFile::max_rings * sizeof(RingHeader));
constexpr std::uint64_t names_bytes = 256 << 10;
constexpr std::uint64_t envelope_offset = names_offset + names_bytes;
constexpr std::uint64_t envelope_bytes = RingFile::envelope_room;
constexpr std::uint64_t batch_offset = envelope_offset + envelope_bytes;
// One request's worth: large enough to compress well, well below what collectors refuse (4 MiB).
constexpr std::uint64_t batch_room = 512 << 10;
constexpr std::uint64_t log_batch_offset = batch_offset + batch_count * batch_room;
constexpr std::uint64_t log_batch_room = 128 << 10;
constexpr std::uint64_t log_batches_bytes = batch_count * log_batch_room;  // no memory until there are log records
constexpr std::uint64_t trace_states_offset = log_batch_offset + log_batches_bytes;
constexpr std::uint64_t trace_states_bytes = trace_state_count * sizeof(StoredTraceState);  // as that of log records
constexpr std::uint64_t first_ring_offset = trace_states_offset + trace_states_bytes;
static_assert(trace_states_bytes % page_bytes == 0);

// The first threads of a process do the most. All rings together stay within 8 MiB.
constexpr std::uint64_t ring_bytes(std::uint32_t number) {
  if (number <= 2) return 1 << 20;
  if (number <= 4) return 512 << 10;
  if (number <= 16) return 128 << 10;
  if (number <= 48) return 64 << 10;
  return 16 << 10;
}

// A span that is open takes 80 bytes and its attributes. Few are open in most threads: a list begins with room for 50.
static_assert(RingFile::first_open_bytes == page_bytes);
constexpr std::uint64_t much_longer = 4;  // than what is needed: memory is given back

// The user's own directory below a place that others can write to: it must be ours and closed to them.
bool own_directory(const std::string& directory, std::string& problem) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    problem = directory + ": " + strerror(errno);
    return false;
  }
  const std::string why_not = base::why_not_own_directory(directory);
  if (!why_not.empty()) problem = directory + ": " + why_not;
  return why_not.empty();
}

int open_shared(const RingFileOptions& options, std::string& path, std::string& problem) {
  if (options.directory.empty() || !own_directory(options.directory, problem)) return -1;
  path = options.directory + "/" + options.name;
  const std::string unlocked = path + ".new";
  const int file = open(unlocked.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    problem = unlocked + ": " + strerror(errno);
    return -1;
  }
  // Held until the process ends: how others tell that it lives, whatever its process id is reused for. They look for
  // its name, so it gets that only now: an unlocked file would be taken for a dead process's.
  if (flock(file, LOCK_EX | LOCK_NB) == 0 && rename(unlocked.c_str(), path.c_str()) == 0) return file;
  problem = path + ": " + strerror(errno);
  unlink(unlocked.c_str());
  close(file);
  return -1;
}

// In what follows, no file (-1) is private memory: not a memfd, for which the limit of file sizes would count.

/// False with errno. Beyond the limit of file sizes the system would not refuse but send SIGXFSZ, which ends the
/// process.
bool may_have_size(std::uint64_t bytes) noexcept {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return true;
  errno = EFBIG;
  return false;
}

/// False with errno.
bool reserve(int file, std::uint64_t from, std::uint64_t bytes) noexcept {
  if (file < 0) return true;
  if (!may_have_size(from + bytes)) return false;
  do errno = posix_fallocate(file, off_t(from), off_t(bytes));
  while (errno == EINTR);
  return errno == 0;
}

/// What others see of a file, at `at` (null: anywhere). Null with errno.
std::byte* map(int file, std::uint64_t from, std::uint64_t bytes, std::byte* at = nullptr) noexcept {
  int flags = MAP_SHARED;
  if (at) flags |= MAP_FIXED;
  if (file < 0) flags |= MAP_ANONYMOUS | MAP_NORESERVE;
  void* mapped = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, file < 0 ? 0 : off_t(from));
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

/// The same bytes twice in a row. Null with errno.
std::byte* map_twice(int file, std::uint64_t from, std::uint64_t bytes) noexcept {
  // One range for both, so that the second lies right behind the first.
  void* range = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(range);
  bool is_mapped = map(file, from, bytes, first);
  if (is_mapped && file >= 0) is_mapped = map(file, from, bytes, first + bytes);
  // An old size of 0 maps shared memory once more, which without a file is the only way.
  if (is_mapped && file < 0)
    is_mapped = mremap(first, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first + bytes) != MAP_FAILED;
  if (is_mapped) return first;
  munmap(range, 2 * bytes);
  return nullptr;
}

bool give_back(std::byte* from, std::uint64_t bytes) noexcept { return madvise(from, bytes, MADV_REMOVE) == 0; }

/// The size that the header says of a file without rings, in memory only as far as every process needs it. Null with
/// errno.
std::byte* map_header(int file) noexcept {
  if (file >= 0 && (!may_have_size(first_ring_offset) || ftruncate(file, off_t(first_ring_offset)) != 0))
    return nullptr;
  return reserve(file, 0, log_batch_offset) ? map(file, 0, first_ring_offset) : nullptr;
}

}  // namespace

std::unique_ptr<RingFile> RingFile::create(const RingFileOptions& options, std::string& problem) {
  std::string path;
  int file = open_shared(options, path, problem);
  std::byte* base = file >= 0 ? map_header(file) : nullptr;
  if (file >= 0 && !base) {
    problem = path + ": " + strerror(errno);
    unlink(path.c_str());
    close(file);
  }
  if (!base) {
    path.clear();
    file = -1;
    base = map_header(file);
    if (!base) {
      problem = std::string("no memory for rings: ") + strerror(errno);
      return nullptr;
    }
  }
  return std::unique_ptr<RingFile>(new RingFile(file, base, std::move(path)));
}

RingFile::RingFile(int file, std::byte* base, std::string path) noexcept
    : file_(file), base_(base), path_(std::move(path)) {
  struct stat made {};
  if (file_ >= 0) fstat(file_, &made);
  device_ = made.st_dev;
  inode_ = made.st_ino;
  FileHeader& header = *new (base_) FileHeader{};
  header.version = layout_version;
  header.header_bytes = sizeof(FileHeader);
  header.ring_header_bytes = sizeof(RingHeader);
  header.ring_count = max_rings;
  header.rings_offset = rings_offset;
  header.names_offset = names_offset;
  header.names_bytes = names_bytes;
  header.envelope_offset = envelope_offset;
  header.batch_offset = batch_offset;
  header.batch_room = batch_room;
  header.log_batch_offset = log_batch_offset;
  header.log_batch_room = record::log_batch_room;
  header.trace_states_offset = trace_states_offset;
  header.file_bytes = first_ring_offset;
  memcpy(header.magic, layout_magic, sizeof header.magic);
}

RingFile::~RingFile() {
  for (std::uint32_t number = 1; number <= max_rings; ++number) {
    if (!data_[number]) continue;
    munmap(data_[number], 2 * ring(number).data_bytes);
    munmap(open_[number], 2 * open_room);
  }
  munmap(base_, first_ring_offset);
  if (file_ >= 0) close(file_);
}

RingHeader& RingFile::ring(std::uint32_t number) const noexcept {
  return reinterpret_cast<RingHeader*>(base_ + rings_offset)[number - 1];
}

void RingFile::reserve_log_batches() noexcept {
  has_log_batches_ = has_log_batches_ || reserve_more(log_batch_offset, log_batches_bytes);
}

void RingFile::add_trace_state(const TraceId& trace, std::string_view state) noexcept {
  has_trace_states_ = has_trace_states_ || reserve_more(trace_states_offset, trace_states_bytes);
  if (!has_trace_states_ || state.size() > sizeof StoredTraceState::text) {
    header().trace_states_lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  auto* const states = reinterpret_cast<StoredTraceState*>(base_ + trace_states_offset);
  StoredTraceState& oldest = states[trace_states_added_ % trace_state_count];
  oldest.number.store(0, std::memory_order_relaxed);
  // Release fence: it is seen to be none before any of it changes.
  std::atomic_thread_fence(std::memory_order_release);
  memcpy(oldest.trace, trace.bytes.data(), sizeof oldest.trace);
  oldest.bytes = static_cast<std::uint32_t>(state.copy(oldest.text, sizeof oldest.text));
  // Release: a reader that sees the number sees the whole.
  oldest.number.store(++trace_states_added_, std::memory_order_release);
}

// A program that closes descriptors which it has not opened may have given this one's number to a file of its own.
bool RingFile::reserve_more(std::uint64_t from, std::uint64_t bytes) const noexcept {
  if (file_ < 0) return true;
  struct stat now;
  if (fstat(file_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_) return reserve(file_, from, bytes);
  errno = EBADF;
  return false;
}

bool RingFile::make_ring(std::uint32_t number) noexcept {
  const std::uint64_t data_bytes = ring_bytes(number);
  const std::uint64_t open_offset = header().file_bytes.load(std::memory_order_relaxed);
  const std::uint64_t data_offset = open_offset + 2 * open_room;
  if (!reserve_more(open_offset, first_open_bytes) || !reserve_more(open_offset + open_room, first_open_bytes) ||
      !reserve_more(data_offset, data_bytes))
    return false;
  std::byte* open = map(file_, open_offset, 2 * open_room);
  std::byte* data = open ? map_twice(file_, data_offset, data_bytes) : nullptr;
  if (!data) {
    if (open) munmap(open, 2 * open_room);
    return false;
  }
  data_[number] = data;
  open_[number] = open;
  RingHeader& made = ring(number);
  made.data_offset = data_offset;
  made.data_bytes = data_bytes;
  made.open_offset = open_offset;
  made.open_room = open_room;
  open_reserved_[number][0] = open_reserved_[number][1] = first_open_bytes;
  header().file_bytes.store(data_offset + data_bytes, std::memory_order_release);
  return true;
}

std::span<std::byte> RingFile::reserve_open(std::uint32_t number, std::uint64_t bytes,
                                            std::uint64_t most_grown) noexcept {
  constexpr std::uint64_t part_to_spare = 8;
  const RingHeader& header = ring(number);
  const std::uint64_t list = (header.open_version.load(std::memory_order_relaxed) + 1) & 1;
  const std::uint64_t begin = header.open_offset + list * open_room;
  std::byte* const mapped = open_[number] + list * open_room;
  std::uint64_t& reserved = open_reserved_[number][list];
  const std::uint64_t wanted = std::clamp(whole_pages(bytes + bytes / part_to_spare), first_open_bytes, open_room);
  if (wanted > reserved) {
    // The list of the next turn is to have as much.
    std::uint64_t left = most_grown > open_grown_ ? most_grown - open_grown_ : 0;
    if (open_reserved_[number][1 - list] <= reserved) left /= 2;
    const std::uint64_t more = std::min(wanted - reserved, left / page_bytes * page_bytes);
    if (more == 0 || !reserve_more(begin + reserved, more)) return {mapped, reserved};
    open_grown_ += more;
    reserved += more;
  } else if (wanted * much_longer <= reserved && give_back(mapped + wanted, reserved - wanted)) {
    open_grown_ -= reserved - wanted;
    reserved = wanted;
  }
  return {mapped, reserved};
}

bool RingFile::advance_open(std::uint32_t number, std::uint64_t tail) noexcept {
  RingHeader& header = ring(number);
  const std::uint64_t version = header.open_version.load(std::memory_order_relaxed);
  OpenList& list = header.open[version & 1];
  const std::uint64_t needed = std::max(whole_pages(list.bytes), first_open_bytes);
  if (version == 0 || open_reserved_[number][(version + 1) & 1] >= needed * much_longer) return false;
  // A reader finds the same open spans with either tail.
  std::atomic_ref(list.tail).store(tail, std::memory_order_relaxed);
  return true;
}

void RingFile::publish_open(std::uint32_t number, std::uint64_t tail, std::uint64_t bytes, bool complete) noexcept {
  RingHeader& header = ring(number);
  const std::uint64_t version = header.open_version.load(std::memory_order_relaxed) + 1;
  header.open[version & 1] = {tail, bytes, complete ? 0u : 1u};
  // Release: a reader that sees the version sees its list.
  header.open_version.store(version, std::memory_order_release);
}

void RingFile::publish_export_failure(std::int64_t since_unix_ns, std::string_view text) noexcept {
  ExportFailure& failure = header().export_failure;
  const std::uint64_t sequence = failure.sequence.load(std::memory_order_relaxed);
  failure.sequence.store(sequence + 1, std::memory_order_relaxed);
  // Release fence: the odd number is seen before any of the new values.
  std::atomic_thread_fence(std::memory_order_release);
  failure.since_unix_ns = since_unix_ns;
  const std::size_t size = text.copy(failure.text, sizeof failure.text);
  memset(failure.text + size, 0, sizeof failure.text - size);
  failure.sequence.store(sequence + 2, std::memory_order_release);
}

void RingFile::set_envelope(std::string_view resource, std::string_view scope,
                            std::string_view redacted_keys) noexcept {
  assert(resource.size() + scope.size() + redacted_keys.size() <= envelope_bytes);
  std::byte* at = base_ + envelope_offset;
  for (const std::string_view part : {resource, scope, redacted_keys}) {
    memcpy(at, part.data(), part.size());
    at += part.size();
  }
  header().resource_bytes = resource.size();
  header().scope_bytes = scope.size();
  header().redaction_bytes = redacted_keys.size();
}

bool RingFile::add_name(std::string_view text) noexcept {
  const std::uint64_t used = header().names_used.load(std::memory_order_relaxed);
  const auto size = static_cast<std::uint32_t>(text.size());
  const std::uint64_t bytes = (4 + std::uint64_t(size) + 3) & ~std::uint64_t{3};
  names_full_ |= used + bytes > names_bytes;  // for good: a shorter one that still fits would get a wrong id
  if (names_full_) return false;
  std::byte* at = base_ + names_offset + used;
  memcpy(at, &size, 4);
  memcpy(at + 4, text.data(), size);
  // Release: a reader that sees the new length sees the name.
  header().names_used.store(used + bytes, std::memory_order_release);
  return true;
}

void RingFile::remove_name() noexcept {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace lens::record
