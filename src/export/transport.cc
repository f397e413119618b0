// SPDX-License-Identifier: Apache-2.0
#include "src/export/transport.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "src/export/transfer.h"
#include "src/model/otlp_header.h"

namespace lens::exporting {
namespace {

// How often one poll goes on with transfers that can: each time libcurl moves one buffer's worth.
constexpr int most_rounds = 16;
// Of a connection whose window is shut, when nobody says that it opens.
constexpr std::chrono::milliseconds http2_tick{1};

struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

void append(std::unique_ptr<curl_slist, FreeList>& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (!longer) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
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

}  // namespace

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
        if (model::why_not_sent(name, value).empty()) append(list, name + (value.empty() ? ";" : ": " + value));
    }
    append(of(OtlpCompression::gzip), grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip");
    append(of(OtlpCompression::zstd), "Content-Encoding: zstd");
  }
  std::unique_ptr<curl_slist, FreeList>& of(OtlpCompression compression) {
    return by_compression.at(static_cast<std::size_t>(compression));
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
  const Handle handle(curl_easy_init());
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
  RequestBody body = request_body(request, endpoint_.signal, config_.protocol, config_.compression);
  const curl_slist* headers = headers_->of(body.compression).get();
  auto transfer = std::make_unique<Transfer>(id, std::move(body), config_, endpoint_, headers, sockets_);
  configure_http(*transfer);
  configure_authorities(*transfer);
  transfers_.reserve(transfers_.size() + 1);
  if (curl_multi_add_handle(multi_, transfer->handle.get()) != CURLM_OK) throw std::bad_alloc();
  transfers_.push_back(std::move(transfer));
}

void Transport::configure_http(Transfer& transfer) {
  CURL* handle = transfer.handle.get();
  if (config_.protocol == OtlpProtocol::grpc) return configure_http2(transfer);
  // HTTP/1.1: one connection for each request under way, and no window that every poll must wait for.
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
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
  transfer.rewind();
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

// To whom asks by gRPC, a page of HTTP says nothing; and an answer is one though the connection broke behind it. To
// whom asks by HTTP, a server of TLS may answer 400.
bool Transport::is_answer(const Response& response) const {
  if (config_.protocol == OtlpProtocol::grpc) return is_of_grpc(response);
  return response.curl_code == CURLE_OK && response.http_status != 400;
}

std::optional<Transport::Settled> Transport::settle(void* handle, int code) {
  const auto at =
      std::ranges::find_if(transfers_, [&](const auto& transfer) { return transfer->handle.get() == handle; });
  curl_multi_remove_handle(multi_, handle);
  const bool grpc = config_.protocol == OtlpProtocol::grpc;
  if ((grpc && begins_anew(**at, code)) || trusts_others(**at, code)) return std::nullopt;
  const std::unique_ptr<Transfer> transfer = std::move(*at);
  transfers_.erase(at);
  Settled settled{transfer->id, transfer->settle(code)};
  settled.response.by_known_server =
      std::exchange(has_been_answered_, has_been_answered_ || is_answer(settled.response));
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
