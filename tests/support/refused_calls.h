// SPDX-License-Identifier: Apache-2.0
// Has the kernel refuse system calls to a process, and to what it becomes: for a child that is about to be another
// program, or to end.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

namespace lens::tests {

/// From now on a call of either number fails with this error.
inline void refuse_calls(unsigned one, unsigned other, unsigned error) {
  sock_filter answers[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof answers / sizeof *answers, answers};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/// As file systems without locks answer.
inline void refuse_locks() { refuse_calls(SYS_flock, SYS_flock, ENOSYS); }
/// As a container does whose limit of processes is reached.
inline void refuse_threads() { refuse_calls(SYS_clone, SYS_clone3, EAGAIN); }

/// Whether this kernel can.
inline bool can_refuse_calls() { return prctl(PR_GET_SECCOMP) >= 0; }

}  // namespace lens::tests
