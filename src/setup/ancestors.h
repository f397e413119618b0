// SPDX-License-Identifier: Apache-2.0
// The processes that this one was started in, as /proc shows them. Include it where what a launcher says is not enough.
//
// Errors: none. A process that cannot be seen, as from inside a container, has nothing to say.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace lens::setup {

/// 0 when it cannot be seen.
pid_t parent_of(pid_t process);

/// In clock ticks since boot; empty when it cannot be seen.
std::string start_time_of(pid_t process);

/// Whether a variable was set when the process began.
bool was_started_with(pid_t process, std::string_view variable);

}  // namespace lens::setup
