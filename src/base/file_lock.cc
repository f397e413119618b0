// SPDX-License-Identifier: Apache-2.0
#include "src/base/file_lock.h"

#include <sys/file.h>

#include <cerrno>

namespace lens::base {

FileLock lock_file(int file) noexcept {
  int result;
  do result = flock(file, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return FileLock::taken;
  switch (errno) {
    case EWOULDBLOCK: return FileLock::held;
    case ENOSYS:
    case ENOLCK:
    case EOPNOTSUPP:
    case EBADF: return FileLock::none;
    default: return FileLock::failed;
  }
}

void unlock_file(int file) noexcept { flock(file, LOCK_UN); }

}  // namespace lens::base
