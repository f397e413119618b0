// SPDX-License-Identifier: Apache-2.0
#include "tests/export/tls_front.h"

#include <openssl/ssl.h>
#include <poll.h>

namespace lens::tests {

struct TlsFront::Context {
  explicit Context(const TlsFrontOptions& options) {
    SSL_CTX_use_certificate_file(tls, options.certificate.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(tls, options.key.c_str(), SSL_FILETYPE_PEM);
    if (options.client_authority.empty()) return;
    SSL_CTX_load_verify_locations(tls, options.client_authority.c_str(), nullptr);
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  ~Context() { SSL_CTX_free(tls); }

  SSL_CTX* tls = SSL_CTX_new(TLS_server_method());
};

TlsFront::TlsFront(int target_port, const TlsFrontOptions& options)
    : target_port_(target_port),
      context_(std::make_unique<Context>(options)),
      server_([this](int client, int, const std::atomic<bool>& stop) { serve(client, stop); }) {}

TlsFront::~TlsFront() = default;

void TlsFront::serve(int client, const std::atomic<bool>& stop) {
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context_->tls), &SSL_free);
  SSL_set_fd(tls.get(), client);
  if (SSL_accept(tls.get()) != 1) return;
  const int target = connect_to_loopback(target_port_);
  for (char room[16 << 10]; !stop;) {
    pollfd wanted[2] = {{client, POLLIN, 0}, {target, POLLIN, 0}};
    if (SSL_pending(tls.get()) == 0 && ::poll(wanted, 2, 5) <= 0) continue;
    if (SSL_pending(tls.get()) > 0 || wanted[0].revents != 0) {
      const int size = SSL_read(tls.get(), room, sizeof room);
      if (size <= 0 || !send_all(target, {room, static_cast<std::size_t>(size)})) break;
    }
    if (wanted[1].revents == 0) continue;
    const ssize_t size = recv(target, room, sizeof room, 0);
    if (size <= 0 || SSL_write(tls.get(), room, static_cast<int>(size)) <= 0) break;
  }
  close(target);
}

}  // namespace lens::tests
