// SPDX-License-Identifier: Apache-2.0
#include "src/export/transport.h"

#include <curl/curl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lens/version.h"
#include "src/base/text.h"

namespace lens::exporting {
namespace {

// Answers that say something are small; what is longer is counted, and not kept.
constexpr std::size_t most_kept_bytes = 128 << 10;
// How often one poll goes on with transfers that can: each time libcurl moves one buffer's worth.
constexpr int most_rounds = 16;
constexpr long upload_buffer_bytes = 16 << 10;  // of each transfer under way: a frame of HTTP/2
// Of a connection whose window is shut, when nobody says that it opens.
constexpr std::chrono::milliseconds http2_tick{1};

struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
struct FreeHandle {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};

void append(std::unique_ptr<curl_slist, FreeList>& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (!longer) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

// What the protocol says itself is not the user's to change, and a line end would begin another header.
bool is_usable(const std::string& name, const std::string& value) {
  static constexpr std::string_view ours[] = {"content-type",  "content-length", "content-encoding", "te",
                                              "grpc-encoding", "grpc-timeout",   "transfer-encoding"};
  constexpr std::string_view line_ends("\r\n\0", 3);
  return !name.empty() && std::ranges::find(ours, base::lower(name)) == std::end(ours) &&
         name.find_first_of(":\r\n \t") == std::string::npos && value.find_first_of(line_ends) == std::string::npos;
}

// At most eight digits and a unit.
std::string grpc_timeout(std::chrono::milliseconds timeout) {
  constexpr std::int64_t largest = 99'999'999;
  if (timeout.count() <= largest) return std::to_string(timeout.count()) + "m";
  return std::to_string(std::min<std::int64_t>(timeout.count() / 1000, largest)) + "S";
}

// libcurl 7.88, Debian 12's, breaks the second request of a connection that is HTTP/2 without TLS (its issue 10634).
bool can_reuse_plain_http2() {
  const unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;
  return version < 0x075800 || version >= 0x080000;
}

int open_socket(void* sockets, curlsocktype, curl_sockaddr* address) {
  const int opened = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (opened >= 0) static_cast<std::vector<int>*>(sockets)->push_back(opened);
  return opened;
}

int close_socket(void* sockets, curl_socket_t closed) {
  std::erase(*static_cast<std::vector<int>*>(sockets), closed);
  return close(closed);
}

}  // namespace

bool is_of_grpc(const Response& response) {
  return response.http_major == 2 && response.content_type.starts_with("application/grpc");
}

struct Transport::Headers {
  std::array<std::unique_ptr<curl_slist, FreeList>, 3> by_compression;

  explicit Headers(const OtlpConfig& config) {
    const bool grpc = config.protocol == OtlpProtocol::grpc;
    for (auto& list : by_compression) {
      append(list,
             std::string("Content-Type: ") + (grpc                                         ? "application/grpc"
                                              : config.protocol == OtlpProtocol::http_json ? "application/json"
                                                                                           : "application/x-protobuf"));
      append(list, "Expect:");  // no round trip before a large body
      if (grpc) append(list, "te: trailers");
      if (grpc && config.timeout.count() > 0) append(list, "grpc-timeout: " + grpc_timeout(config.timeout));
      for (const auto& [name, value] : config.headers)
        if (is_usable(name, value)) append(list, name + (value.empty() ? ";" : ": " + value));
    }
    append(of(OtlpCompression::gzip), grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip");
    append(of(OtlpCompression::zstd), "Content-Encoding: zstd");
  }
  std::unique_ptr<curl_slist, FreeList>& of(OtlpCompression compression) {
    return by_compression.at(static_cast<std::size_t>(compression));
  }
};

struct Transport::Transfer {
  std::uint64_t id = 0;
  std::unique_ptr<CURL, FreeHandle> handle;
  RequestBody body;
  std::size_t sent_bytes = 0;
  bool grpc = false;
  bool by_kept_connection = false;  // HTTP/2 without TLS, by libcurl 7.88
  bool trusts_directory = false, has_tried_both = false;
  std::size_t received_bytes = 0;
  Response response = {};
  char error[CURL_ERROR_SIZE] = {};
  int first_code = 0;  // by those who were trusted at first
  char first_error[CURL_ERROR_SIZE] = {};

  static std::size_t on_read(char* to, std::size_t, std::size_t room, void* self) {
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
  static int on_seek(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) return CURL_SEEKFUNC_FAIL;
    static_cast<Transfer*>(self)->sent_bytes = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
  }

  static std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* self) {
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

  static int on_note(CURL*, curl_infotype type, char* bytes, std::size_t size, void* self) {
    if (type != CURLINFO_TEXT) return 0;
    if (auto proxy = proxy_in({bytes, size})) static_cast<Transfer*>(self)->response.proxy = std::move(*proxy);
    return 0;
  }

  // Trailers come here too.
  static std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* self) {
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
};

Transport::Transport(const OtlpConfig& config, Endpoint endpoint)
    : config_(config), endpoint_(std::move(endpoint)), headers_(std::make_unique<Headers>(config)) {
  // gRPC's compressions are another list.
  const bool is_unusable = config.protocol == OtlpProtocol::grpc && config.compression == OtlpCompression::zstd;
  if (is_unusable) config_.compression = OtlpCompression::none;
  static std::once_flag once;
  static CURLcode ready = CURLE_FAILED_INIT;
  std::call_once(once, [] { ready = curl_global_init(CURL_GLOBAL_DEFAULT); });
  multi_ = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (!multi_) throw std::runtime_error("libcurl cannot be initialised");
  find_authorities();
  // One carries all requests. An older one has timed out, which libcurl does not close for that.
  if (config.protocol == OtlpProtocol::grpc) curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 1L);
}

void Transport::find_authorities() {
  const std::unique_ptr<CURL, FreeHandle> handle(curl_easy_init());
  const auto own = [&](CURLINFO which) {
    const char* path = nullptr;
    if (handle) curl_easy_getinfo(handle.get(), which, &path);
    return std::string(path ? path : "");
  };
  authority_file_ = config_.certificate.empty() ? own(CURLINFO_CAINFO) : config_.certificate;
  authority_directory_ = own(CURLINFO_CAPATH);
  trusts_directory_ = !authority_directory_.empty() && config_.certificate.empty();
}

Transport::~Transport() {
  give_up();
  curl_multi_cleanup(multi_);
}

void Transport::give_up() noexcept {
  unsent_.clear();
  for (const auto& transfer : transfers_) curl_multi_remove_handle(multi_, transfer->handle.get());
  transfers_.clear();
}

void Transport::send(std::uint64_t id, const TwoPieces& request) {
  if (request.size() > most_request_bytes) {
    unsent_.push_back({id, {.request_bytes = request.size(), .unsent = true}});
    return;
  }
  auto transfer = std::make_unique<Transfer>();
  transfer->id = id;
  transfer->grpc = config_.protocol == OtlpProtocol::grpc;
  transfer->handle.reset(curl_easy_init());
  if (!transfer->handle) throw std::bad_alloc();
  transfer->body = request_body(request, endpoint_.signal, config_.protocol, config_.compression);
  configure(*transfer);
  transfers_.reserve(transfers_.size() + 1);
  if (curl_multi_add_handle(multi_, transfer->handle.get()) != CURLM_OK) throw std::bad_alloc();
  transfers_.push_back(std::move(transfer));
}

void Transport::configure(Transfer& transfer) {
  CURL* handle = transfer.handle.get();
  curl_easy_setopt(handle, CURLOPT_URL, endpoint_.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(handle, CURLOPT_POST, 1L);
  curl_easy_setopt(handle, CURLOPT_READFUNCTION, &Transfer::on_read);
  curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, &Transfer::on_seek);
  curl_easy_setopt(handle, CURLOPT_SEEKDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.body.bytes.size()));
  curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer_bytes);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers_->of(transfer.body.compression).get());
  // Never destroyed: the last requests leave while the process's own static objects are being taken down.
  static const auto* user_agent = new std::string(std::string("OTel-OTLP-Exporter-Lens/") + version);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, user_agent->c_str());
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer.error);
  curl_easy_setopt(handle, CURLOPT_VERBOSE, 1L);
  curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, &Transfer::on_note);
  curl_easy_setopt(handle, CURLOPT_DEBUGDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // what a proxy says is no answer
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &sockets_);
  curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
  curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, &sockets_);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  // Giving a transfer up must not wait for its name server.
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
  const auto timeout = std::min<std::int64_t>(config_.timeout.count(), std::numeric_limits<long>::max());
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(timeout, 0)));
  if (config_.timeout.count() <= 0) curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, 0L);
  if (!endpoint_.unix_socket.empty()) curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, endpoint_.unix_socket.c_str());
  // It takes none before a socket, and would name it all the same.
  if (!endpoint_.unix_socket.empty()) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  if (transfer.grpc) {
    configure_http2(transfer);
  } else {
    // HTTP/1.1: one connection for each request under way, and no window that every poll must wait for.
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
  }
  configure_tls(transfer);
}

void Transport::configure_http2(Transfer& transfer) {
  CURL* handle = transfer.handle.get();
  const bool tls = endpoint_.url.starts_with("https:");
  // A proxy forwards HTTP/1.1 only; through a tunnel all goes.
  curl_easy_setopt(handle, CURLOPT_HTTPPROXYTUNNEL, 1L);
  long version = tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
  const bool keeps_right = tls || can_reuse_plain_http2();
  transfer.by_kept_connection = !keeps_right && may_keep_plain_http2_;
  // Where there is a connection it is HTTP/2 already, and needs no knowledge. Where there is none, see begins_anew.
  if (transfer.by_kept_connection) version = CURL_HTTP_VERSION_2_0;
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, version);
  curl_easy_setopt(handle, CURLOPT_PIPEWAIT, keeps_right ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, keeps_right || transfer.by_kept_connection ? 0L : 1L);
}

void Transport::configure_tls(Transfer& transfer) {
  const std::pair<CURLoption, const std::string*> files[] = {{CURLOPT_SSLKEY, &config_.client_key},
                                                             {CURLOPT_SSLCERT, &config_.client_certificate}};
  for (const auto& [option, path] : files)
    if (!path->empty()) curl_easy_setopt(transfer.handle.get(), option, path->c_str());
  configure_authorities(transfer);
}

// One or the other, which is enough on nearly all machines: of a directory libcurl reads what a server's certificate
// asks for; a file, of which 140 authorities take 1.7 MiB, it keeps once for all connections; but where it is told
// both, each connection reads the whole file for itself.
void Transport::configure_authorities(Transfer& transfer) {
  transfer.trusts_directory = trusts_directory_;
  const auto or_none = [](bool wanted, const std::string& path) { return wanted ? path.c_str() : nullptr; };
  curl_easy_setopt(transfer.handle.get(), CURLOPT_CAINFO, or_none(!trusts_directory_, authority_file_));
  curl_easy_setopt(transfer.handle.get(), CURLOPT_CAPATH, or_none(trusts_directory_, authority_directory_));
}

// Not as long as sockets are ready: while libcurl waits for a window of HTTP/2, its socket can always be written.
std::vector<Transport::Settled> Transport::poll() {
  std::vector<Settled> settled = std::exchange(unsent_, {});
  bool moves = true;
  for (int round = 0; round < most_rounds && moves && !transfers_.empty(); ++round) {
    int running = 0, left = 0;
    const std::size_t before = moved_bytes();
    curl_multi_perform(multi_, &running);
    moves = moved_bytes() != before;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      moves = true;
      if (auto one = settle(message->easy_handle, message->data.result)) settled.push_back(std::move(*one));
    }
  }
  return settled;
}

std::size_t Transport::held_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& transfer : transfers_) bytes += transfer->body.bytes.head.size();
  return bytes;
}

Proxy Transport::proxy() const {
  for (const auto& transfer : transfers_)
    if (!transfer->response.proxy.empty()) return transfer->response.proxy;
  return {};
}

std::size_t Transport::moved_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& transfer : transfers_) bytes += transfer->sent_bytes + transfer->received_bytes;
  return bytes;
}

// A kept connection that had gone: by the new one, libcurl has spoken HTTP/1.1 to a server of HTTP/2.
bool Transport::begins_anew(Transfer& transfer, int code) {
  long connections = 0, http = 0, status = 0;
  curl_easy_getinfo(transfer.handle.get(), CURLINFO_NUM_CONNECTS, &connections);
  curl_easy_getinfo(transfer.handle.get(), CURLINFO_HTTP_VERSION, &http);
  curl_easy_getinfo(transfer.handle.get(), CURLINFO_RESPONSE_CODE, &status);
  // Who refuses may not have taken all of the request, and ends the connection.
  may_keep_plain_http2_ = code == CURLE_OK && http >= CURL_HTTP_VERSION_2_0 && status < 400;
  // One that libcurl makes when the kept one ends during the request, it does not count.
  const bool is_new = connections > 0 || code == CURLE_UNSUPPORTED_PROTOCOL;
  if (!transfer.by_kept_connection || !is_new || may_keep_plain_http2_) return false;
  configure_http2(transfer);
  return begin_again(transfer);
}

bool Transport::begin_again(Transfer& transfer) {
  transfer.sent_bytes = transfer.received_bytes = 0;
  transfer.response = {};
  transfer.error[0] = '\0';
  return curl_multi_add_handle(multi_, transfer.handle.get()) == CURLM_OK;
}

/// A server that is not known by the one may be known by the other. Where it is not, the first one's word stands: of
/// the file that the configuration names. When that cannot be read, nothing makes up for it.
bool Transport::trusts_others(Transfer& transfer, int& code) {
  const bool is_unreadable = code == CURLE_SSL_CACERT_BADFILE;
  const bool is_unknown = code == CURLE_PEER_FAILED_VERIFICATION || is_unreadable;
  const std::string& other = transfer.trusts_directory ? authority_file_ : authority_directory_;
  const bool is_of_configuration = !transfer.trusts_directory && !config_.certificate.empty();
  if (!is_unknown || other.empty() || (is_unreadable && is_of_configuration)) return false;
  trusts_directory_ = !transfer.trusts_directory;
  if (std::exchange(transfer.has_tried_both, true)) {
    code = transfer.first_code;
    std::ranges::copy(transfer.first_error, transfer.error);
    return false;
  }
  transfer.first_code = code;
  std::ranges::copy(transfer.error, transfer.first_error);
  configure_authorities(transfer);
  return begin_again(transfer);
}

// Why a connection was not made, libcurl tells with times and, for a socket, with the name of a host; and of a proxy it
// tells more than may be shown.
std::string Transport::error_of(const Transfer& transfer, int code) {
  long os_error = 0;
  curl_easy_getinfo(transfer.handle.get(), CURLINFO_OS_ERRNO, &os_error);
  if (code == CURLE_COULDNT_CONNECT && os_error != 0) return std::strerror(static_cast<int>(os_error));
  const std::string_view text = transfer.error[0] ? transfer.error : curl_easy_strerror(static_cast<CURLcode>(code));
  return error_without_credentials(code, text, transfer.response.proxy);
}

// To whom asks by gRPC, a page of HTTP says nothing; and an answer is one though the connection broke behind it.
bool Transport::is_answer(const Response& response) const {
  if (config_.protocol == OtlpProtocol::grpc) return is_of_grpc(response);
  return response.curl_code == CURLE_OK;
}

std::optional<Transport::Settled> Transport::settle(void* handle, int code) {
  const auto at =
      std::ranges::find_if(transfers_, [&](const auto& transfer) { return transfer->handle.get() == handle; });
  curl_multi_remove_handle(multi_, handle);
  if (((*at)->grpc && begins_anew(**at, code)) || trusts_others(**at, code)) return std::nullopt;
  const std::unique_ptr<Transfer> transfer = std::move(*at);
  transfers_.erase(at);
  if (code != CURLE_OK) transfer->response.error = error_of(*transfer, code);
  Settled settled{transfer->id, std::move(transfer->response)};
  Response& response = settled.response;
  response.curl_code = code;
  curl_off_t sent_bytes = 0;
  curl_easy_getinfo(handle, CURLINFO_SIZE_UPLOAD_T, &sent_bytes);
  response.sent_bytes = static_cast<std::uint64_t>(sent_bytes);
  long local_port = 0;  // the time that the connection took, libcurl 7.88 tells once TLS stands
  curl_easy_getinfo(handle, CURLINFO_LOCAL_PORT, &local_port);
  response.connected = local_port > 0;
  response.begun = transfer->sent_bytes > 0;
  response.request_bytes = transfer->body.bytes.size();
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &response.http_status);
  curl_easy_getinfo(handle, CURLINFO_HTTP_CONNECTCODE, &response.tunnel_status);
  long http = 0;
  curl_easy_getinfo(handle, CURLINFO_HTTP_VERSION, &http);
  response.http_major = http >= CURL_HTTP_VERSION_2_0 ? 2 : http > 0 ? 1 : 0;
  response.by_known_server = std::exchange(has_been_answered_, has_been_answered_ || is_answer(response));
  if (is_of_grpc(response)) {
    const bool has_body = !response.body.empty();
    Unpacked message = grpc_message_of(response.body, most_response_bytes, most_kept_bytes);
    response.has_message = message.is_whole();
    response.unread |= message.state == Unpacked::State::unkept;
    response.too_large |= message.state == Unpacked::State::too_large;
    response.broken = has_body && message.state == Unpacked::State::broken;
    response.body = std::move(message.bytes);
  }
  return settled;
}

void Transport::wait(int wake, std::chrono::milliseconds most) {
  most = std::max(most, std::chrono::milliseconds(0));
  if (config_.protocol != OtlpProtocol::grpc || is_idle()) {
    curl_waitfd woken{wake, CURL_WAIT_POLLIN, 0};
    curl_multi_poll(multi_, &woken, wake >= 0 ? 1 : 0, static_cast<int>(most.count()), nullptr);
    return;
  }
  std::vector<pollfd> readable{{wake, POLLIN, 0}};
  for (const int socket : sockets_) readable.push_back({socket, POLLIN, 0});
  ::poll(readable.data(), readable.size(), static_cast<int>(std::min(most, http2_tick).count()));
}

}  // namespace lens::exporting
