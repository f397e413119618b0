// SPDX-License-Identifier: Apache-2.0
#include "src/export/transfer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "lens/version.h"
#include "src/base/text.h"
#include "src/base/unshared.h"

namespace lens::exporting {
namespace {

// OTLP's own bound on an answer, decompressed.
constexpr std::size_t most_response_bytes = 4 << 20;
// Answers that say something are small; what is longer is counted, and not kept.
constexpr std::size_t most_kept_bytes = 128 << 10;
constexpr long upload_buffer_bytes = 16 << 10;  // of each transfer under way: a frame of HTTP/2

int open_socket(void* sockets, curlsocktype, curl_sockaddr* address) {
  const int opened = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (opened < 0) return opened;
  static_cast<std::vector<int>*>(sockets)->push_back(opened);
  base::unshare_with_children(opened);
  return opened;
}

int close_socket(void* sockets, curl_socket_t closed) {
  std::erase(*static_cast<std::vector<int>*>(sockets), closed);
  base::forget_unshared(closed);
  return close(closed);
}

template <class Value = long>
Value info(CURL* handle, CURLINFO which) {
  Value value = 0;
  curl_easy_getinfo(handle, which, &value);
  return value;
}

}  // namespace

bool is_of_grpc(const Response& response) {
  return response.http_major == 2 && response.content_type.starts_with("application/grpc");
}

Transfer::Transfer(std::uint64_t id, RequestBody body, const OtlpConfig& config, const Endpoint& endpoint,
                   const curl_slist* headers, std::vector<int>& sockets)
    : id(id), handle(curl_easy_init()), body(std::move(body)) {
  if (!handle) throw std::bad_alloc();
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle.get(), option, value); };
  set(CURLOPT_URL, endpoint.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_POST, 1L);
  set(CURLOPT_READFUNCTION, &Transfer::on_read);
  set(CURLOPT_READDATA, this);
  set(CURLOPT_SEEKFUNCTION, &Transfer::on_seek);
  set(CURLOPT_SEEKDATA, this);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(this->body.bytes.size()));
  set(CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer_bytes);
  set(CURLOPT_HTTPHEADER, headers);
  // Never destroyed: the last requests leave while the process's own static objects are being taken down.
  static const auto* user_agent = new std::string(std::string("OTel-OTLP-Exporter-Lens/") + version);
  set(CURLOPT_USERAGENT, user_agent->c_str());
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_ERRORBUFFER, error);
  set(CURLOPT_VERBOSE, 1L);
  set(CURLOPT_DEBUGFUNCTION, &Transfer::on_note);
  set(CURLOPT_DEBUGDATA, this);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // what a proxy says is no answer
  set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(CURLOPT_OPENSOCKETDATA, &sockets);
  set(CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
  set(CURLOPT_CLOSESOCKETDATA, &sockets);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  // Giving a transfer up must not wait for its name server.
  set(CURLOPT_QUICK_EXIT, 1L);
  const auto timeout = std::min<std::int64_t>(config.timeout.count(), std::numeric_limits<long>::max());
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(timeout, 0)));
  if (config.timeout.count() <= 0) set(CURLOPT_CONNECTTIMEOUT_MS, 0L);
  if (!endpoint.unix_socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, endpoint.unix_socket.c_str());
  // It takes none before a socket, and would name it all the same.
  if (!endpoint.unix_socket.empty()) set(CURLOPT_PROXY, "");
  if (!config.client_key.empty()) set(CURLOPT_SSLKEY, config.client_key.c_str());
  if (!config.client_certificate.empty()) set(CURLOPT_SSLCERT, config.client_certificate.c_str());
}

void Transfer::rewind() {
  sent_bytes = received_bytes = 0;
  response = {};
  error[0] = '\0';
}

Response Transfer::settle(int code) {
  if (code != CURLE_OK) response.error = why_unanswered(code);
  response.curl_code = code;
  response.request_bytes = body.bytes.size();
  response.sent_bytes = static_cast<std::uint64_t>(info<curl_off_t>(handle.get(), CURLINFO_SIZE_UPLOAD_T));
  // The time that the connection took, libcurl 7.88 tells once TLS stands.
  response.connected = info(handle.get(), CURLINFO_LOCAL_PORT) > 0;
  // Where it came before libcurl had asked whose the other end is, that question is what it says has failed.
  const bool was_gone_at_once = std::string_view(error).starts_with("getpeername()");
  response.reset = code != CURLE_OK && (was_gone_at_once || info(handle.get(), CURLINFO_OS_ERRNO) == ECONNRESET);
  response.begun = sent_bytes > 0;
  response.http_status = info(handle.get(), CURLINFO_RESPONSE_CODE);
  response.tunnel_status = info(handle.get(), CURLINFO_HTTP_CONNECTCODE);
  const long http = info(handle.get(), CURLINFO_HTTP_VERSION);
  response.http_major = http >= CURL_HTTP_VERSION_2_0 ? 2 : http > 0 ? 1 : 0;
  if (is_of_grpc(response)) {
    const bool has_body = !response.body.empty();
    Unpacked message = grpc_message_of(response.body, most_response_bytes, most_kept_bytes);
    response.has_message = message.is_whole();
    response.unread |= message.state == Unpacked::State::unkept;
    response.too_large |= message.state == Unpacked::State::too_large;
    response.broken = has_body && message.state == Unpacked::State::broken;
    response.body = std::move(message.bytes);
  }
  return std::move(response);
}

// Why a connection was not made, libcurl tells with times and, for a socket, with the name of a host; and of a proxy it
// tells more than may be shown.
std::string Transfer::why_unanswered(int code) const {
  const long os_error = info(handle.get(), CURLINFO_OS_ERRNO);
  if (code == CURLE_COULDNT_CONNECT && os_error != 0) return std::strerror(static_cast<int>(os_error));
  const std::string_view text = error[0] ? error : curl_easy_strerror(static_cast<CURLcode>(code));
  return error_without_credentials(code, text, response.proxy);
}

std::size_t Transfer::on_read(char* to, std::size_t, std::size_t room, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const TwoPieces& bytes = transfer.body.bytes;
  const bool in_head = transfer.sent_bytes < bytes.head.size();
  const std::string_view piece = in_head ? std::string_view(bytes.head) : bytes.rest;
  const std::size_t from = transfer.sent_bytes - (in_head ? 0 : bytes.head.size());
  const std::size_t size = piece.copy(to, room, from);
  transfer.sent_bytes += size;
  return size;
}

// A connection that had died unnoticed: from the beginning, on another one.
int Transfer::on_seek(void* self, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_FAIL;
  static_cast<Transfer*>(self)->sent_bytes = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t Transfer::on_body(char* bytes, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.received_bytes += size;
  transfer.response.answered = true;
  transfer.response.too_large = transfer.received_bytes > most_response_bytes;
  if (transfer.response.too_large) return 0;
  transfer.response.unread = transfer.received_bytes > most_kept_bytes;
  if (transfer.response.unread)
    std::string().swap(transfer.response.body);
  else
    transfer.response.body.append(bytes, size);
  return size;
}

// Trailers come here too.
std::size_t Transfer::on_header(char* bytes, std::size_t, std::size_t size, void* self) {
  Response& response = static_cast<Transfer*>(self)->response;
  const std::string_view line(bytes, size);
  response.answered = true;
  if (line.starts_with("HTTP/") && line.find(':') == std::string_view::npos) return size;
  const std::size_t colon = std::min(line.find(':'), size);
  const std::string name = base::lower(line.substr(0, colon));
  const std::pair<std::string_view, std::string*> wanted[] = {
      {"content-type", &response.content_type}, {"retry-after", &response.retry_after},
      {"location", &response.location},         {"grpc-status", &response.grpc_status},
      {"grpc-message", &response.grpc_message}, {"grpc-status-details-bin", &response.grpc_details}};
  for (const auto& [header, field] : wanted)
    if (name == header) *field = base::trim(line.substr(std::min(colon + 1, size)));
  return size;
}

int Transfer::on_note(CURL*, curl_infotype type, char* bytes, std::size_t size, void* self) {
  if (type != CURLINFO_TEXT) return 0;
  if (auto proxy = proxy_in({bytes, size})) static_cast<Transfer*>(self)->response.proxy = std::move(*proxy);
  return 0;
}

}  // namespace lens::exporting
