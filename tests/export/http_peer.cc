// SPDX-License-Identifier: Apache-2.0
#include "tests/export/http_peer.h"

#include <poll.h>
#include <sys/un.h>

#include "src/base/text.h"
#include "tests/export/loopback.h"

namespace lens::tests {
namespace {

int listen_on_path(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(socket, 16) != 0)
    throw std::runtime_error("cannot listen");
  return socket;
}

bool receive(int socket, std::string& bytes) {
  char room[64 << 10];
  const ssize_t size = recv(socket, room, sizeof room, 0);
  if (size <= 0) return false;
  bytes.append(room, static_cast<std::size_t>(size));
  return true;
}

/// Takes a request's head out of what was received; false when it has not all come.
bool take_head(std::string& received, HttpRequest& request) {
  const std::size_t end = received.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const auto lines = base::split(std::string_view(received).substr(0, end), '\n');
  const auto words = base::split(lines[0], ' ');
  request.method = words.at(0);
  if (words.size() > 1) request.path = words[1];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(':');
    request.headers[base::lower(lines[i].substr(0, colon))] = base::trim(lines[i].substr(colon + 1));
  }
  received.erase(0, end + 4);
  return true;
}

}  // namespace

Answer answer(int status, const std::string& body, const std::string& headers) {
  return {.bytes = "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Length: " + std::to_string(body.size()) +
                   "\r\n" + headers + "\r\n" + body};
}

HttpPeer::HttpPeer(Script script, int port, const std::string& unix_path) : script_(std::move(script)), port_(port) {
  listener_ = unix_path.empty() ? listen_on_loopback(port_) : listen_on_path(unix_path);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpPeer::~HttpPeer() {
  stop_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    std::lock_guard lock(mutex_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
  close(listener_);
}

std::vector<HttpRequest> HttpPeer::requests() const {
  std::lock_guard lock(mutex_);
  std::vector<HttpRequest> requests;
  for (const auto& [number, request] : requests_) requests.push_back(request);
  return requests;
}

void HttpPeer::accept_all() {
  while (!stop_) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    ++connections_;
    std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

void HttpPeer::serve(int socket) {
  std::string received;
  for (bool alive = true; alive;) {
    HttpRequest request;
    while (!take_head(received, request))
      if (!receive(socket, received)) return;
    begin_request();
    std::unique_lock lock(mutex_);
    const int number = begun_++;
    const Answer early = script_(number, request);
    const std::size_t size = std::stoul("0" + request.headers["content-length"]);
    lock.unlock();
    while (!early.before_body && received.size() < size)
      if (!receive(socket, received)) {
        --at_once_;
        return;
      }
    request.body = received.substr(0, size);
    received.erase(0, size);
    lock.lock();
    requests_.emplace(number, request);
    lock.unlock();
    alive = respond(socket, early);
  }
}

void HttpPeer::begin_request() {
  const int now = ++at_once_;
  for (int most = most_at_once_; most < now && !most_at_once_.compare_exchange_weak(most, now);) {
  }
}

bool HttpPeer::respond(int socket, const Answer& answer) {
  std::this_thread::sleep_for(answer.after);
  if (answer.then != Answer::Then::hang) --at_once_;  // before whoever gets the answer can send the next request
  bool sent = send_all(socket, answer.bytes);
  for (std::size_t i = 0; sent && i < answer.repeated; ++i) sent = send_all(socket, answer.tail);
  switch (answer.then) {
    case Answer::Then::keep_alive: return sent;
    case Answer::Then::close: shutdown(socket, SHUT_RDWR); return false;
    case Answer::Then::reset: reset_connection(socket); return false;
    case Answer::Then::hang: {
      pollfd closed{socket, POLLRDHUP, 0};
      while (!stop_ && poll(&closed, 1, 10) == 0) {
      }
      return false;
    }
  }
  return false;
}

}  // namespace lens::tests
