// SPDX-License-Identifier: Apache-2.0
#include "src/record/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

namespace lens::record {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

constexpr std::uint64_t rings_offset = whole_pages(sizeof(FileHeader));
constexpr std::uint64_t names_offset = rings_offset + whole_pages(RingFile::max_rings * sizeof(RingHeader));
constexpr std::uint64_t names_bytes = 256 << 10;
constexpr std::uint64_t first_ring_offset = names_offset + names_bytes;

// The first threads of a process do the most. All rings together stay within 12 MiB.
constexpr std::uint64_t ring_bytes(std::uint32_t number) {
  if (number <= 4) return 1 << 20;
  if (number <= 16) return 256 << 10;
  if (number <= 64) return 64 << 10;
  return 16 << 10;
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
  return true;
}

int open_shared(const RingFileOptions& options, std::string& path, std::string& problem) {
  if (options.directory.empty() || !own_directory(options.directory, problem)) return -1;
  path = options.directory + "/" + options.name;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    problem = path + ": " + strerror(errno);
    return -1;
  }
  // Held until the process ends: how others tell that it lives, whatever its process id is reused for.
  flock(file, LOCK_EX | LOCK_NB);
  return file;
}

bool reserve(int file, std::uint64_t from, std::uint64_t bytes) noexcept {
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
  header.file_bytes = first_ring_offset;
  memcpy(header.magic, layout_magic, sizeof header.magic);
}

RingFile::~RingFile() {
  for (std::uint32_t number = 1; number <= max_rings; ++number)
    if (data_[number]) munmap(data_[number], 2 * ring(number).data_bytes);
  munmap(base_, first_ring_offset);
  close(file_);
}

RingHeader& RingFile::ring(std::uint32_t number) const noexcept {
  return reinterpret_cast<RingHeader*>(base_ + rings_offset)[number - 1];
}

bool RingFile::make_ring(std::uint32_t number) noexcept {
  const std::uint64_t bytes = ring_bytes(number);
  const std::uint64_t offset = whole_pages(header().file_bytes.load(std::memory_order_relaxed));
  if (!reserve(file_, offset, bytes)) return false;
  // One range for both copies, so that the second lies right behind the first.
  void* range = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return false;
  auto* data = static_cast<std::byte*>(range);
  for (std::byte* copy : {data, data + bytes}) {
    if (mmap(copy, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, off_t(offset)) == MAP_FAILED) {
      munmap(range, 2 * bytes);
      return false;
    }
  }
  data_[number] = data;
  ring(number).data_offset = offset;
  ring(number).data_bytes = bytes;
  header().file_bytes.store(offset + bytes, std::memory_order_release);
  return true;
}

bool RingFile::add_name(std::string_view text) noexcept {
  const std::uint64_t used = header().names_used.load(std::memory_order_relaxed);
  const auto size = static_cast<std::uint32_t>(text.size());
  const std::uint64_t bytes = (4 + std::uint64_t(size) + 3) & ~std::uint64_t{3};
  if (used + bytes > names_bytes) return false;
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
