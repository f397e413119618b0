// SPDX-License-Identifier: Apache-2.0
// A c10d process group as a communicator of trace contexts.
// Include it in programs that link libtorch, which the library itself does not; `lens::broadcast_trace_context` takes
// what it defines.
//
// Threads:   as the process group: all ranks issue their operations in one order.
// Ownership: borrows the process group.
// Errors:    std::runtime_error with what the process group says: at the source it names the ranks that did not come
//            within the limit, or have gone, and the others have been served. Where a limit has passed, Gloo closes
//            that rank's connections to all: each error after the first repeats it, and blames nobody else.
// Cost:      a message from the source to each other rank: all wait for the source, and it, with Gloo, for all.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
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
    const Failure failure = process_group_.getRank() == source ? send(tensors) : receive(tensors, source);
    if (!failure) return;
    if (first_failure_) throw std::runtime_error("an earlier broadcast in this group failed: " + *first_failure_);
    first_failure_ = failure;
    throw std::runtime_error(*failure);
  }

 private:
  using Failure = std::optional<std::string>;  // none when all went well

  /// Of an operation, at its beginning or its end.
  template <class Operation>
  static Failure failure_of(const Operation& succeeds) try {
    return succeeds() ? Failure() : "aborted";
  } catch (const std::exception& error) {
    return error.what();
  }

  // A source that is not there and one whose limit passed for another rank look the same from here.
  Failure receive(std::vector<at::Tensor>& tensors, int source) {
    const Failure reason = failure_of([&] { return process_group_.recv(tensors, source, tag)->wait(limit_); });
    if (!reason) return {};
    return "nothing came from rank " + std::to_string(source) +
           " of the group, the source: it did not come to the broadcast, or one before failed there, and its own error "
           "says for whom: " +
           *reason;
  }

  // The group's own broadcast passes the bytes on from rank to rank, and does not tell which one is missing: so one
  // message each. Who is missing does not keep it from the others. What the process group says names nobody.
  Failure send(std::vector<at::Tensor>& tensors) {
    std::string missing, reason;
    const auto note = [&](int peer, const Failure& failure) {
      if (!failure) return;
      if (missing.empty()) reason = *failure;
      missing += (missing.empty() ? "" : ", ") + std::to_string(peer);
    };
    std::vector<std::pair<int, c10::intrusive_ptr<c10d::Work>>> sending;
    for (int peer = 0; peer < process_group_.getSize(); ++peer) {
      if (peer == process_group_.getRank()) continue;
      note(peer, failure_of([&] {
             sending.emplace_back(peer, process_group_.send(tensors, peer, tag));
             return true;
           }));
    }
    const auto began = std::chrono::steady_clock::now();
    for (const auto& [peer, work] : sending) note(peer, failure_of([&] { return work->wait(left_since(began)); }));
    if (missing.empty()) return {};
    return "rank " + missing + " of the group did not come to the broadcast: " + reason;
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
  Failure first_failure_;
};

}  // namespace lens
