// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/shared_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace lens::trace {

SharedFile::SharedFile(std::filesystem::path path) : path_(std::move(path)) {
  constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // a pipe of that name is not waited for
  file_ = open(path_.c_str(), O_RDWR | flags);                // to claim it, nothing is ever written
  if (file_ < 0) file_ = open(path_.c_str(), O_RDONLY | flags);
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_.string());
}

SharedFile::~SharedFile() {
  if (file_ >= 0) close(file_);
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

// Only the process itself ever takes this lock alone; those who look share it, and do not see each other.
bool SharedFile::is_alive() const {
  if (flock(file_, LOCK_SH | LOCK_NB) != 0) return true;
  flock(file_, LOCK_UN);
  return false;
}

// A lock of another kind, which those who look at the process's own do not see: a dead process stays dead to them.
bool SharedFile::claim() const {
  if (is_alive()) return false;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file_, F_OFD_SETLK, &whole) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    throw std::system_error(errno, std::generic_category(), path_.string());
  }
  struct stat status;
  return fstat(file_, &status) == 0 && status.st_nlink > 0;
}

bool SharedFile::has(std::uint64_t offset, std::uint64_t bytes) const {
  struct stat status;
  if (fstat(file_, &status) != 0) return false;
  const auto size = std::uint64_t(status.st_size);
  return bytes <= max_part_bytes && offset <= size && bytes <= size - offset;
}

std::string SharedFile::read(std::uint64_t offset, std::uint64_t bytes) const {
  std::string content;
  if (!has(offset, bytes)) return content;
  content.resize(bytes);
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t got = pread(file_, content.data() + done, bytes - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      content.resize(done);
      break;
    }
    done += std::uint64_t(got);
  }
  return content;
}

}  // namespace lens::trace
