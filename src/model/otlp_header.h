// SPDX-License-Identifier: Apache-2.0
// Which of the headers that a program or its environment gives may go with requests.
#pragma once

#include <string_view>

namespace lens::model {

/// A token of HTTP: what stands there in its place may be a value, which is not shown.
bool is_header_name(std::string_view name);

/// Why a header does not go with requests, for people, without its value; empty: it does. What the protocol says itself
/// is not the user's to change, and a line end would begin another header.
std::string_view why_not_sent(std::string_view name, std::string_view value);

}  // namespace lens::model
