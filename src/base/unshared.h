// SPDX-License-Identifier: Apache-2.0
// Descriptors that a forked child must not share: the other end of a connection would take it for open as long as the
// child has it.
//
// Threads: any.
#pragma once

namespace lens::base {

/// From here on children close it. Of more than a few dozen at once the last ones are shared all the same.
void unshare_with_children(int file) noexcept;
/// To be called before it is closed: another's may get its number.
void forget_unshared(int file) noexcept;
/// In a forked child, which has one thread.
void close_unshared() noexcept;

}  // namespace lens::base
