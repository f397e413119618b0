// SPDX-License-Identifier: Apache-2.0
#include "tests/export/forward_proxy.h"

#include <poll.h>

namespace lens::tests {
namespace {

/// Up to and with the empty line; it stands alone, as clients send the rest after it.
std::string head_of(int client, const std::atomic<bool>& stop) {
  std::string head;
  char byte = 0;
  while (!head.ends_with("\r\n\r\n") && !stop) {
    pollfd wanted{client, POLLIN, 0};
    if (::poll(&wanted, 1, 5) <= 0) continue;
    if (recv(client, &byte, 1, 0) <= 0) return {};
    head += byte;
  }
  return head;
}

void pass_on(int client, int target, const std::atomic<bool>& stop) {
  char room[16 << 10];
  const auto pass = [&](int from, int to) {
    const ssize_t size = recv(from, room, sizeof room, 0);
    return size > 0 && send_all(to, {room, static_cast<std::size_t>(size)});
  };
  while (!stop) {
    pollfd wanted[2] = {{client, POLLIN, 0}, {target, POLLIN, 0}};
    if (::poll(wanted, 2, 5) <= 0) continue;
    if (wanted[0].revents != 0 && !pass(client, target)) return;
    if (wanted[1].revents != 0 && !pass(target, client)) return;
  }
}

}  // namespace

std::vector<std::string> ForwardProxy::asked() const {
  std::lock_guard lock(mutex_);
  return asked_;
}

void ForwardProxy::serve(int client, const std::atomic<bool>& stop) {
  const std::string head = head_of(client, stop);
  const std::string line = head.substr(0, head.find('\r'));
  {
    std::lock_guard lock(mutex_);
    asked_.push_back(line);
  }
  if (refuses_with_ != 0) {
    send_all(client, "HTTP/1.1 " + std::to_string(refuses_with_) +
                         " No\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    shutdown(client, SHUT_WR);
    for (char rest[4 << 10]; !stop && recv(client, rest, sizeof rest, 0) > 0;) continue;
    return;
  }
  const std::size_t colon = line.rfind(':');
  if (colon == std::string::npos) return;
  const int target = connect_to_loopback(std::stoi(line.substr(colon + 1)));
  if (target < 0) return;
  const bool is_tunnel = line.starts_with("CONNECT ");
  if (is_tunnel ? send_all(client, "HTTP/1.1 200 Connection established\r\n\r\n") : send_all(target, head))
    pass_on(client, target, stop);
  close(target);
}

}  // namespace lens::tests
