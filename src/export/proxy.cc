// SPDX-License-Identifier: Apache-2.0
#include "src/export/proxy.h"

#include <curl/curl.h>

#include "src/base/text.h"
#include "src/export/endpoint.h"

namespace lens::exporting {
namespace {

constexpr std::string_view schemes =
    "http, https, socks4, socks4a, socks5 and socks5h are the schemes that a proxy has";
constexpr std::string_view special_characters =
    "special characters of a user or a password are written as %40 (@), %3A (:), %2F (/), %23 (#), %3F (?), %20 "
    "(space)";

}  // namespace

std::optional<Proxy> proxy_in(std::string_view note) {
  constexpr std::string_view before = "Uses proxy env variable ", between = " == '";
  if (!note.starts_with(before)) return std::nullopt;
  note = base::trim(note.substr(before.size()));
  const std::size_t at = note.find(between);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view variable = note.substr(0, at);
  if (base::lower(variable) == "no_proxy") return std::nullopt;
  std::string_view url = note.substr(at + between.size());
  // Where libcurl cut a long line, the @ that ends the credentials may be missing.
  if (!url.ends_with('\'')) return Proxy{"…", std::string(variable)};
  url.remove_suffix(1);
  return Proxy{without_credentials(url), std::string(variable)};
}

// libcurl quotes the whole URL of a proxy that it cannot use. One that it misreads, since a password in it holds a / or
// a #, has for it the user as its host's name.
std::string error_without_credentials(int code, std::string_view text, const Proxy& proxy) {
  if (text.starts_with("Unsupported proxy scheme")) return std::string(schemes);
  if (code == CURLE_COULDNT_RESOLVE_PROXY) {
    const bool is_read = text.starts_with("Could not resolve");
    std::string words = is_read ? "its host's name has no address" : "its URL cannot be read";
    if (proxy.url.find('@') != std::string::npos) words += "; " + std::string(special_characters);
    return words;
  }
  const bool may_quote = text.find("://") != std::string_view::npos || text.find('@') != std::string_view::npos;
  const bool speaks_of_proxy = !proxy.empty() || text.starts_with("Unsupported proxy");
  if (speaks_of_proxy && (may_quote || code == CURLE_COULDNT_CONNECT))
    return curl_easy_strerror(static_cast<CURLcode>(code));
  return std::string(text);
}

}  // namespace lens::exporting
