// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer's runtime is in the process: it takes memory and makes calls of its own.
#pragma once

namespace lens::tests {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace lens::tests
