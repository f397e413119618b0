// SPDX-License-Identifier: Apache-2.0
// What libcurl says about the proxy that it found in the environment, without the credentials in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lens::exporting {

/// Whom a request went through, as libcurl found it in the environment.
struct Proxy {
  std::string url = {};       // without credentials
  std::string variable = {};  // that names it

  bool empty() const noexcept { return url.empty(); }
};

/// The proxy that a line of libcurl's verbose notes names. Which one it takes, libcurl decides by rules of its own and
/// says in a line for people only: no_proxy holds lists, suffixes and ranges of addresses.
std::optional<Proxy> proxy_in(std::string_view note);

/// libcurl's text for its error `code`, or another in its place where that may show a proxy's credentials.
std::string error_without_credentials(int code, std::string_view text, const Proxy& proxy);

}  // namespace lens::exporting
