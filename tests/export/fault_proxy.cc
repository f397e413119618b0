// SPDX-License-Identifier: Apache-2.0
#include "tests/export/fault_proxy.h"

#include <poll.h>

#include <chrono>

namespace lens::tests {
namespace {

using Kind = Fault::Kind;

constexpr std::chrono::milliseconds look{5}, drip_pause{2};

/// Whether something can be read from `socket` by now.
bool is_readable(int socket, std::chrono::milliseconds most) {
  pollfd wanted{socket, POLLIN, 0};
  return ::poll(&wanted, 1, static_cast<int>(most.count())) > 0;
}

void pass_on(int client, int target, const Fault& fault, const std::atomic<bool>& stop) {
  std::size_t taken = 0;
  char room[64 << 10];
  while (!stop) {
    pollfd wanted[2] = {{client, POLLIN, 0}, {target, POLLIN, 0}};
    if (::poll(wanted, 2, static_cast<int>(look.count())) <= 0) continue;
    if (wanted[0].revents != 0) {
      const ssize_t size = recv(client, room, sizeof room, 0);
      if (size <= 0 || !send_all(target, {room, static_cast<std::size_t>(size)})) return;
      taken += static_cast<std::size_t>(size);
    }
    if (wanted[1].revents == 0) continue;
    const ssize_t size = recv(target, room, sizeof room, 0);
    if (size <= 0) return;
    // HTTP/2 says something before it has the request: that comes through.
    if (fault.kind == Kind::lost_answer && taken > fault.after_bytes) return reset_connection(client);
    const std::size_t step = fault.kind == Kind::drip ? 1 : static_cast<std::size_t>(size);
    for (std::size_t at = 0; at < static_cast<std::size_t>(size) && !stop; at += step) {
      if (fault.kind == Kind::drip) is_readable(-1, drip_pause);
      if (!send_all(client, {room + at, step})) return;
    }
  }
}

}  // namespace

FaultProxy::FaultProxy(int target_port, std::vector<Fault> faults, bool refuses)
    : target_port_(target_port),
      faults_(std::move(faults)),
      server_(
          [this](int client, int number, const std::atomic<bool>& stop) {
            const auto at = static_cast<std::size_t>(number);
            serve(client, at < faults_.size() ? faults_[at] : Fault{}, stop);
          },
          refuses) {}

void FaultProxy::serve(int client, const Fault& fault, const std::atomic<bool>& stop) const {
  if (fault.kind == Kind::close) return;
  const bool reaches_the_target =
      fault.kind == Kind::none || fault.kind == Kind::lost_answer || fault.kind == Kind::drip;
  if (reaches_the_target) {
    const int target = connect_to_loopback(target_port_);
    if (target >= 0) pass_on(client, target, fault, stop);
    if (target >= 0) close(target);
    return;
  }
  std::string garbage = "\x7f\x00\xff\x01garbage\r\n\r\n";
  for (std::size_t taken = 0; !stop;) {
    if (!is_readable(client, look)) continue;
    char room[4 << 10];
    const ssize_t size = recv(client, room, sizeof room, 0);
    if (size <= 0) return;
    taken += static_cast<std::size_t>(size);
    if (fault.kind == Kind::reset && taken > fault.after_bytes) return reset_connection(client);
    if (fault.kind == Kind::garbage) static_cast<void>(send_all(client, garbage));
    if (fault.kind == Kind::garbage) return;
  }
}

}  // namespace lens::tests
