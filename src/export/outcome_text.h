// SPDX-License-Identifier: Apache-2.0
// The words in which outcomes are told, and the remedies that several of them share.
#pragma once

#include <string>
#include <string_view>

#include "src/export/endpoint.h"

namespace lens::exporting {

inline constexpr std::string_view hint_at_tls = "if the collector wants TLS, write https:// before the endpoint";

/// Text from outside as one line of a bounded length, which may be empty.
std::string one_line(std::string_view text);
/// The same behind `what`; `what` alone where there is none.
std::string with(std::string what, std::string_view detail);

bool is_plain(const Endpoint& endpoint);

/// What to set where the server speaks the other protocol.
std::string hint_at_protocol(OtlpProtocol protocol);
/// That the server does not speak this protocol, and what to do about it.
std::string wrong_protocol(const Endpoint& endpoint, OtlpProtocol protocol);

}  // namespace lens::exporting
