// SPDX-License-Identifier: Apache-2.0
#include "src/base/thread.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace lens::base {
namespace {

constexpr std::uint64_t slice_ns = 100'000;  // the least that the kernel takes

/// The kernel's struct sched_attr in its first form. The C library of Debian 12 has no name for it, later ones do.
struct SchedulerAttributes {
  std::uint32_t bytes = sizeof(SchedulerAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

}  // namespace

bool ask_for_short_slices() noexcept {
  SchedulerAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return false;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return false;
  attributes.runtime_ns = slice_ns;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace lens::base
