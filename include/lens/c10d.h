// SPDX-License-Identifier: Apache-2.0
// A c10d process group as a communicator of trace contexts.
// Include it in programs that link libtorch, which the library itself does not; `lens::broadcast_trace_context` takes
// what it defines.
//
// Threads:   as the process group: all ranks issue their operations in one order.
// Ownership: borrows the process group.
// Errors:    std::runtime_error naming the ranks that did not come within the limit, or have gone, and what the process
//            group says of the first. With those the group may be of no more use then; the others have been served.
// Cost:      a message from the source to each other rank: all wait for the source, and it, with Gloo, for all.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lens/propagation.h"
#include "lens/time_limit.h"

namespace lens {

/// Sends from host memory, so the group's backend must take CPU tensors, as Gloo and MPI do.
class C10dCommunicator : public PutBack {
 public:
  /// No limit: the process group's own.
  explicit C10dCommunicator(c10d::ProcessGroup& process_group, std::chrono::milliseconds limit = kNoTimeout) noexcept
      : process_group_(process_group), limit_(detail::bounded(limit)) {}

  void broadcast(std::span<std::byte> bytes, int source) {
    if (take(bytes, source)) return;
    std::vector<at::Tensor> tensors{at::from_blob(bytes.data(), {static_cast<std::int64_t>(bytes.size())}, at::kByte)};
    Missing missing;
    if (process_group_.getRank() == source)
      send(tensors, missing);
    else
      missing.unless(source, [&] { return process_group_.recv(tensors, source, tag)->wait(limit_); });
    missing.raise();
  }

 private:
  /// Those with whom an operation failed, at its beginning or its end. What the process group says names nobody.
  class Missing {
   public:
    template <class Operation>
    void unless(int peer, const Operation& succeeds) {
      std::string reason = "aborted";
      try {
        if (succeeds()) return;
      } catch (const std::exception& error) {
        reason = error.what();
      }
      if (ranks_.empty()) reason_ = reason;
      ranks_ += (ranks_.empty() ? "" : ", ") + std::to_string(peer);
    }
    void raise() const {
      if (!ranks_.empty())
        throw std::runtime_error("rank " + ranks_ + " of the group did not come to the broadcast: " + reason_);
    }

   private:
    std::string ranks_, reason_;
  };

  // The group's own broadcast passes the bytes on from rank to rank, and does not tell which one is missing: so one
  // message each. Who is missing does not keep it from the others.
  void send(std::vector<at::Tensor>& tensors, Missing& missing) {
    std::vector<std::pair<int, c10::intrusive_ptr<c10d::Work>>> sending;
    for (int peer = 0; peer < process_group_.getSize(); ++peer) {
      if (peer == process_group_.getRank()) continue;
      missing.unless(peer, [&] {
        sending.emplace_back(peer, process_group_.send(tensors, peer, tag));
        return true;
      });
    }
    const auto began = std::chrono::steady_clock::now();
    for (const auto& [peer, work] : sending) missing.unless(peer, [&] { return work->wait(left_since(began)); });
  }

  // One limit for all of them together.
  std::chrono::milliseconds left_since(std::chrono::steady_clock::time_point began) const {
    if (limit_ == kNoTimeout) return limit_;
    const auto left = limit_ - (std::chrono::steady_clock::now() - began);
    return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), std::chrono::milliseconds(1));
  }

  static constexpr int tag = 0x1e45;  // of no other message in the group
  c10d::ProcessGroup& process_group_;
  std::chrono::milliseconds limit_;
};

}  // namespace lens
