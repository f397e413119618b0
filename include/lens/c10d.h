// SPDX-License-Identifier: Apache-2.0
// A c10d process group as a communicator of trace contexts.
// Include it in programs that link libtorch, which the library itself does not; `lens::broadcast_trace_context` takes
// what it defines.
//
// Threads:   as the process group: all ranks issue their operations in one order.
// Ownership: borrows the process group.
// Errors:    std::runtime_error naming the rank that did not come within the limit, or has gone, and what the process
//            group says of it. The group may be of no more use then.
// Cost:      a message from the source to each other rank: all wait for the source, and it, with Gloo, for all.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lens {

/// Sends from host memory, so the group's backend must take CPU tensors, as Gloo and MPI do.
class C10dCommunicator {
 public:
  /// No limit: the process group's own.
  explicit C10dCommunicator(c10d::ProcessGroup& process_group, std::chrono::milliseconds limit = kNoTimeout) noexcept
      : process_group_(process_group), limit_(limit) {}

  void broadcast(std::span<std::byte> bytes, int source) {
    std::vector<at::Tensor> tensors{at::from_blob(bytes.data(), {static_cast<std::int64_t>(bytes.size())}, at::kByte)};
    if (process_group_.getRank() == source)
      send(tensors);
    else
      wait(*process_group_.recv(tensors, source, tag), source);
  }

 private:
  // The group's own broadcast passes the bytes on from rank to rank, and does not tell which one is missing: so one
  // message each.
  void send(std::vector<at::Tensor>& tensors) {
    std::vector<std::pair<int, c10::intrusive_ptr<c10d::Work>>> sending;
    for (int peer = 0; peer < process_group_.getSize(); ++peer)
      if (peer != process_group_.getRank()) sending.emplace_back(peer, process_group_.send(tensors, peer, tag));
    for (const auto& [peer, work] : sending) wait(*work, peer);
  }

  void wait(c10d::Work& work, int peer) const {
    std::string reason;
    try {
      if (work.wait(limit_)) return;
      reason = "aborted";
    } catch (const std::exception& error) {
      reason = error.what();
    }
    throw std::runtime_error("rank " + std::to_string(peer) + " of the group did not come to the broadcast: " + reason);
  }

  static constexpr int tag = 0x1e45;  // of no other message in the group
  c10d::ProcessGroup& process_group_;
  std::chrono::milliseconds limit_;
};

}  // namespace lens
