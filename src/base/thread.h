// SPDX-License-Identifier: Apache-2.0
// What a thread of ours asks of the scheduler.
#pragma once

namespace lens::base {

/// Asks that the calling thread, when it wakes, waits for no other thread's whole time slice: it will run a tenth of a
/// millisecond at a time. It gets no more processor time by it, and no privilege is needed. Linux 6.12 and later; a
/// thread that has a real-time policy keeps it. False where the kernel does not do it.
bool ask_for_short_slices() noexcept;

}  // namespace lens::base
