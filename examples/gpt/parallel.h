// SPDX-License-Identifier: Apache-2.0
// Which rank this process is, which pipeline stage and which replica, and the groups of ranks that it talks to.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace gpt {

// A rank's place. Neighbouring ranks are replicas of the same stage: rank = stage * replicas + replica, so that the
// gradient all-reduce, which moves the most bytes, stays within a node.
struct Layout {
  int rank = 0;
  int world_size = 1;
  int pipeline_size = 1;
  int data_size = 1;

  int stage() const { return rank / data_size; }
  int replica() const { return rank % data_size; }
  int rank_of_stage(int stage) const { return stage * data_size + replica(); }
  bool is_first_stage() const { return stage() == 0; }
  bool is_last_stage() const { return stage() == pipeline_size - 1; }
  bool is_last_rank() const { return rank == world_size - 1; }
};

// Reads RANK and WORLD_SIZE; without them, one rank. Throws std::invalid_argument for a malformed one.
Layout layout_from_env();

// One communicator: the ranks that share something. All calls but start_all_reduce_sum block until done, and throw
// std::runtime_error naming the operation and the group when a peer is gone or the time-out has passed.
class Group {
 public:
  Group(std::string name, c10::intrusive_ptr<c10d::ProcessGroup> process_group);

  int size() const { return process_group_->getSize(); }
  const std::string& name() const { return name_; }
  c10d::ProcessGroup& process_group() const { return *process_group_; }

  void all_reduce_sum(at::Tensor& tensor) const;
  c10::intrusive_ptr<c10d::Work> start_all_reduce_sum(at::Tensor& tensor) const;
  void broadcast(at::Tensor& tensor, int source) const;
  void barrier() const;

  // Runs an operation of this group; what names it in the error.
  void attempt(const char* what, const std::function<void()>& operation) const;

 private:
  std::string name_;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group_;
};

// The groups of this rank. Making them is collective: every rank calls it with the same sizes and time-out.
class Groups {
 public:
  Groups(const Layout& layout, std::chrono::milliseconds timeout);

  Group world;     // every rank
  Group pipeline;  // the stages of this replica, by stage
  Group data;      // the replicas of this stage, by replica

 private:
  Groups(const Layout& layout, c10::intrusive_ptr<c10d::Store> store, std::chrono::milliseconds timeout);

  c10::intrusive_ptr<c10d::Store> store_;  // rank 0's copy serves the others until it is destroyed
};

}  // namespace gpt
