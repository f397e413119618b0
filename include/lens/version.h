// SPDX-License-Identifier: Apache-2.0
// The version of the library; also the version of its instrumentation scope.
#pragma once

namespace lens {

inline constexpr const char* version = "0.1.0";

}  // namespace lens
