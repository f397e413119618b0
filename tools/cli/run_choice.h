// SPDX-License-Identifier: Apache-2.0
// How a command names a run of which processes live or lived on this machine: by its id or by its trace directory.
#pragma once

#include <string>

namespace lens::cli {

/// The run id; a text that is no directory is taken as the id itself. Of a directory that no `lens run` made, the run
/// of a process that writes there.
std::string run_id_of(const std::string& run, const std::string& shm_dir);

/// Where processes started from here keep their files of rings.
std::string default_shm_dir();
/// Throws std::runtime_error, and says why nothing can be found there, when it is empty.
void check_shm_dir(const std::string& shm_dir);

/// What to say where none was found: `processes` is "no process" or what kind of one; any run where `run_id` is empty.
std::string nothing_found(const std::string& processes, const std::string& run_id, const std::string& shm_dir);

}  // namespace lens::cli
