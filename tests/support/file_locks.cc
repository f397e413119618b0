// SPDX-License-Identifier: Apache-2.0
#include "tests/support/file_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<lens::tests::FileLocks::Kind> kind_now = lens::tests::FileLocks::Kind::local;

}  // namespace

extern "C" int flock(int file, int operation) noexcept {
  using Kind = lens::tests::FileLocks::Kind;
  const Kind kind = kind_now;
  const bool is_readable_only = (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY;
  if (kind == Kind::nfs && (operation & LOCK_EX) != 0 && is_readable_only) return errno = EBADF, -1;
  if (kind == Kind::none) return errno = ENOSYS, -1;
  if (kind == Kind::broken) return errno = EIO, -1;
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

namespace lens::tests {

FileLocks::FileLocks(Kind kind) { kind_now = kind; }
FileLocks::~FileLocks() { kind_now = Kind::local; }

}  // namespace lens::tests
