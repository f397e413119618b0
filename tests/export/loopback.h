// SPDX-License-Identifier: Apache-2.0
// Sockets on loopback, for peers in the tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string_view>

namespace lens::tests {

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Who connects is refused until somebody listens. Port 0: any that is free, which it then becomes.
inline int bind_to_loopback(int& port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = loopback(port);
  socklen_t size = sizeof address;
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    close(socket);
    throw std::runtime_error("cannot listen on loopback");
  }
  port = ntohs(address.sin_port);
  return socket;
}

inline int listen_on_loopback(int& port) {
  const int socket = bind_to_loopback(port);
  if (listen(socket, 16) == 0) return socket;
  close(socket);
  throw std::runtime_error("cannot listen on loopback");
}

inline int connect_to_loopback(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  close(socket);
  return -1;
}

/// A port that nobody listens on, another one at each call, below those that the system gives to connections: until the
/// test uses it, nobody else comes upon it.
inline int free_port() {
  static std::atomic<unsigned> next{std::random_device{}()};
  for (;;) {
    int port = static_cast<int>(10'000 + next++ % 20'000);
    try {
      close(listen_on_loopback(port));
      return port;
    } catch (const std::runtime_error&) {  // it is taken
    }
  }
}

inline bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

/// A port where a connection is neither made nor refused: its queue is full.
class BlackHole {
 public:
  BlackHole() : listener_(listen_on_loopback(port_)) {
    listen(listener_, 0);
    for (int& waiting : waiting_) {
      waiting = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      const sockaddr_in address = loopback(port_);
      static_cast<void>(connect(waiting, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    }
  }
  ~BlackHole() {
    for (const int waiting : waiting_) close(waiting);
    close(listener_);
  }
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;

  int port() const noexcept { return port_; }

 private:
  int port_ = 0;
  int listener_;
  int waiting_[4] = {};
};

/// Breaks a connection with a reset, where closing it would end it in order.
inline void reset_connection(int socket) {
  sockaddr nothing{};
  nothing.sa_family = AF_UNSPEC;
  static_cast<void>(connect(socket, &nothing, sizeof nothing));
}

}  // namespace lens::tests
