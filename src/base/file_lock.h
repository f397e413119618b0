// SPDX-License-Identifier: Apache-2.0
// A lock on a whole file (flock) that is never waited for. Network file systems may have none: Lustre without its mount
// option `flock`, NFS without a lock daemon. And NFS locks only what may be written.
#pragma once

namespace lens::base {

enum class FileLock {
  taken,
  held,  // by another open of the file
  none,  // the file system has no locks: errno says how it put that
  failed,
};

/// Of a file that is open for writing.
FileLock lock_file(int file) noexcept;
void unlock_file(int file) noexcept;

}  // namespace lens::base
