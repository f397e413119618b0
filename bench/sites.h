// SPDX-License-Identifier: Apache-2.0
// The code that the recorder's benchmarks time: loops over one instrumentation site each.
#pragma once

#include <cstdint>
#include <string_view>

#include "lens/visibility.h"

namespace lens::bench {

/// `count` times nothing: what the loop itself costs.
LENS_API void empty_loop(std::uint64_t count);
/// `count` times a site whose group is off.
LENS_API void disabled_sites(std::uint64_t count);
LENS_API void disabled_sites_with_attributes(std::uint64_t count);
/// `count` spans of an enabled group.
LENS_API void spans(std::uint64_t count);
/// `count` spans with an integer, a double and a 16-character string.
LENS_API void spans_with_attributes(std::uint64_t count);
/// `count` spans whose name is formed at run time.
LENS_API void spans_with_text(std::uint64_t count, std::string_view name);
/// `count` spans, each within `depth` - 1 open ones that it opens and closes with it.
LENS_API void nested_spans(std::uint64_t count, int depth);

/// What any recorder pays: two clock reads and a 64-byte record in a ring that another thread could drain.
LENS_API void floor_records(std::uint64_t count);
/// Gives the floor's ring back.
LENS_API void drain_floor();

}  // namespace lens::bench
