// SPDX-License-Identifier: Apache-2.0
// The address sanitizer of clang before 17 does not hold the locks of its allocator over fork: a child finds one taken
// for ever that another thread held. Later ones, and the C library's allocator, do what stands here.
#if defined(__clang__) && defined(__has_feature)
#if __has_feature(address_sanitizer) && __clang_major__ < 17
#include <pthread.h>

namespace __lsan {
void LockAllocator();
void UnlockAllocator();
}  // namespace __lsan
namespace __sanitizer {
void StackDepotLockAll();
void StackDepotUnlockAll();
}  // namespace __sanitizer

namespace {

void lock_all() {
  __lsan::LockAllocator();
  __sanitizer::StackDepotLockAll();
}
void unlock_all() {
  __sanitizer::StackDepotUnlockAll();
  __lsan::UnlockAllocator();
}

// The first to be told of, so that it locks after all others, which may allocate, and unlocks before them.
[[gnu::constructor(101)]] void hold_locks_over_fork() { pthread_atfork(lock_all, unlock_all, unlock_all); }

}  // namespace
#endif
#endif
