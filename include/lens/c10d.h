// SPDX-License-Identifier: Apache-2.0
// A c10d process group as a communicator of trace contexts.
// Include it in programs that link libtorch, which the library itself does not; `lens::broadcast_trace_context` takes
// what it defines.
//
// Threads:   as the process group: all ranks issue their collectives in one order.
// Ownership: borrows the process group.
// Errors:    what the process group throws, passes.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lens {

/// Broadcasts from host memory, so the group's backend must take CPU tensors, as Gloo and MPI do.
class C10dCommunicator {
 public:
  explicit C10dCommunicator(c10d::ProcessGroup& process_group) noexcept : process_group_(process_group) {}

  void broadcast(std::span<std::byte> bytes, int source) {
    std::vector<at::Tensor> tensors{at::from_blob(bytes.data(), {static_cast<std::int64_t>(bytes.size())}, at::kByte)};
    c10d::BroadcastOptions options;
    options.rootRank = source;
    process_group_.broadcast(tensors, options)->wait();
  }

 private:
  c10d::ProcessGroup& process_group_;
};

}  // namespace lens
