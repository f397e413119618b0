// SPDX-License-Identifier: Apache-2.0
// Which ranks export: strategies of a program's own, beside single_rank, all_ranks, sampled and first_rank_per_node.
// Include this to register one under a name that `Config::export_strategy` (EXPORT_STRATEGY) may then say; for a
// single set-up, assign `Config::custom_strategy` instead.
//
// Threads:   all functions, any thread. A strategy is looked up and called by set-up.
// Ownership: the registry keeps a copy of the callable.
// Errors:    std::invalid_argument, and nothing has changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lens/config.h"
#include "lens/rank.h"
#include "lens/visibility.h"

namespace lens {

/// From now on the name, in any case, means `strategy`. It must depend on its arguments alone: where it does not choose
/// this rank, set-up asks it for the others, to warn when none exports. A name is a word of
/// letters, digits, and . _ -; one that is taken, by a built-in strategy or not, needs `replace`.
LENS_API void register_export_strategy(std::string_view name, ExportStrategy strategy, bool replace = false);

/// Takes a registered strategy away; a built-in one that it had replaced is back. False when nothing was registered
/// under the name. Throws for a built-in one, which stays.
LENS_API bool unregister_export_strategy(std::string_view name);

/// The names there are, sorted.
LENS_API std::vector<std::string> export_strategies();

}  // namespace lens
