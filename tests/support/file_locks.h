// SPDX-License-Identifier: Apache-2.0
// What flock answers on file systems that are not local, while one of these lives. It is put in place of the C
// library's in the whole test program.
#pragma once

namespace lens::tests {

class FileLocks {
 public:
  enum class Kind {
    local,
    nfs,   // only what is open for writing can be locked (EBADF)
    none,  // as of Lustre without its mount option `flock` (ENOSYS)
    broken,
  };

  explicit FileLocks(Kind kind);
  ~FileLocks();
  FileLocks(const FileLocks&) = delete;
  FileLocks& operator=(const FileLocks&) = delete;
};

}  // namespace lens::tests
