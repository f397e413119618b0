// SPDX-License-Identifier: Apache-2.0
// How a command names a run of which processes live or lived on this machine: by its id or by its trace directory.
#pragma once

#include <string>

namespace lens::cli {

/// The run id; a text that is no directory is taken as the id itself.
std::string run_id_of(const std::string& run);

}  // namespace lens::cli
