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

#include <cstdio>
#include <new>

namespace lens::record {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

constexpr std::uint64_t rings_offset = whole_pages(sizeof(FileHeader));
constexpr std::uint64_t names_offset = rings_offset + whole_pages(RingFile::max_rings * sizeof(RingHeader));
constexpr std::uint64_t names_bytes = 256 << 10;
constexpr std::uint64_t envelope_offset = names_offset + names_bytes;
constexpr std::uint64_t envelope_bytes = 16 << 10;
constexpr std::uint64_t batch_offset = envelope_offset + envelope_bytes;
// One request's worth: large enough to compress well, well below what collectors refuse (4 MiB).
constexpr std::uint64_t batch_room = 512 << 10;
constexpr std::uint64_t first_ring_offset = batch_offset + batch_count * batch_room;

// The first threads of a process do the most. All rings together stay within 10 MiB.
constexpr std::uint64_t ring_bytes(std::uint32_t number) {
  if (number <= 4) return 1 << 20;
  if (number <= 16) return 256 << 10;
  if (number <= 48) return 64 << 10;
  return 16 << 10;
}

// A span that is open takes 80 bytes and its attributes.
constexpr std::uint64_t open_list_bytes(std::uint32_t number) {
  if (number <= 4) return 32 << 10;
  return number <= 16 ? 16 << 10 : 4 << 10;
}

// The user's own directory below a place that others can write to: it must be ours and closed to them.
bool own_directory(const std::string& directory, std::string& problem) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    problem = directory + ": " + strerror(errno);
    return false;
  }
  struct stat status;
  if (lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
    problem = directory + ": not a directory of this user";
    return false;
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    problem = directory + ": others may write to it; `chmod go-w` it";
    return false;
  }
  return true;
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

bool reserve(int file, std::uint64_t from, std::uint64_t bytes) noexcept {
  // Beyond the limit of file sizes the system would not refuse but send SIGXFSZ, which ends the process.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && from + bytes > limit.rlim_cur) return false;
  int result;
  do result = posix_fallocate(file, off_t(from), off_t(bytes));
  while (result == EINTR);
  return result == 0;
}

std::byte* map_header(int file) noexcept {
  if (!reserve(file, 0, first_ring_offset)) return nullptr;
  void* base = mmap(nullptr, first_ring_offset, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

}  // namespace

std::unique_ptr<RingFile> RingFile::create(const RingFileOptions& options, std::string& problem) {
  std::string path;
  int file = open_shared(options, path, problem);
  std::byte* base = file >= 0 ? map_header(file) : nullptr;
  if (file >= 0 && !base) {
    problem = path + ": no room in shared memory";
    unlink(path.c_str());
    close(file);
  }
  if (!base) {
    path.clear();
    file = memfd_create("lens", MFD_CLOEXEC);
    base = file >= 0 ? map_header(file) : nullptr;
    if (!base) {
      if (file >= 0) close(file);
      problem = std::string("no memory for rings: ") + strerror(errno);
      return nullptr;
    }
  }
  return std::unique_ptr<RingFile>(new RingFile(file, base, std::move(path)));
}

RingFile::RingFile(int file, std::byte* base, std::string path) noexcept
    : file_(file), base_(base), path_(std::move(path)) {
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
  header.file_bytes = first_ring_offset;
  memcpy(header.magic, layout_magic, sizeof header.magic);
}

RingFile::~RingFile() {
  for (std::uint32_t number = 1; number <= max_rings; ++number) {
    if (!data_[number]) continue;
    munmap(data_[number], 2 * ring(number).data_bytes);
    munmap(open_[number], 2 * ring(number).open_room);
  }
  munmap(base_, first_ring_offset);
  close(file_);
}

RingHeader& RingFile::ring(std::uint32_t number) const noexcept {
  return reinterpret_cast<RingHeader*>(base_ + rings_offset)[number - 1];
}

bool RingFile::make_ring(std::uint32_t number) noexcept {
  const std::uint64_t data_bytes = ring_bytes(number);
  const std::uint64_t open_bytes = 2 * open_list_bytes(number);
  const std::uint64_t open_offset = header().file_bytes.load(std::memory_order_relaxed);
  const std::uint64_t data_offset = open_offset + whole_pages(open_bytes);
  if (!reserve(file_, open_offset, data_offset - open_offset + data_bytes)) return false;
  void* open = mmap(nullptr, open_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, off_t(open_offset));
  // One range for both copies of the data, so that the second lies right behind the first.
  void* range = mmap(nullptr, 2 * data_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool mapped = open != MAP_FAILED && range != MAP_FAILED;
  auto* data = static_cast<std::byte*>(range);
  for (std::uint64_t copy = 0; mapped && copy < 2; ++copy) {
    mapped = mmap(data + copy * data_bytes, data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
                  off_t(data_offset)) != MAP_FAILED;
  }
  if (!mapped) {
    if (open != MAP_FAILED) munmap(open, open_bytes);
    if (range != MAP_FAILED) munmap(range, 2 * data_bytes);
    return false;
  }
  data_[number] = data;
  open_[number] = static_cast<std::byte*>(open);
  RingHeader& made = ring(number);
  made.data_offset = data_offset;
  made.data_bytes = data_bytes;
  made.open_offset = open_offset;
  made.open_room = open_bytes / 2;
  header().file_bytes.store(data_offset + data_bytes, std::memory_order_release);
  return true;
}

void RingFile::publish_open(std::uint32_t number, std::uint64_t tail, std::string_view entries,
                            bool complete) noexcept {
  RingHeader& header = ring(number);
  const std::uint64_t version = header.open_version.load(std::memory_order_relaxed) + 1;
  if (!entries.empty()) memcpy(open_[number] + (version & 1) * header.open_room, entries.data(), entries.size());
  header.open[version & 1] = {tail, entries.size(), complete ? 0u : 1u};
  // Release: a reader that sees the version sees its list.
  header.open_version.store(version, std::memory_order_release);
}

bool RingFile::set_envelope(std::string_view resource, std::string_view scope,
                            std::string_view redacted_keys) noexcept {
  if (resource.size() + scope.size() + redacted_keys.size() > envelope_bytes) return false;
  std::byte* at = base_ + envelope_offset;
  for (const std::string_view part : {resource, scope, redacted_keys}) {
    memcpy(at, part.data(), part.size());
    at += part.size();
  }
  header().resource_bytes = resource.size();
  header().scope_bytes = scope.size();
  header().redaction_bytes = redacted_keys.size();
  return true;
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
