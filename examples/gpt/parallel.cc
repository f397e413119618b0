// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/parallel.h"

#include "examples/gpt/errors.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace gpt {
namespace {

std::string_view environment(const char* name, std::string_view fallback) {
  const char* value = std::getenv(name);
  return value && *value ? value : fallback;
}

int integer_from_env(const char* name, std::string_view fallback, int minimum) {
  const std::string_view text = environment(name, fallback);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < minimum)
    throw std::invalid_argument(std::string(name) + '=' + std::string(text) + " is not an integer of at least " +
                                std::to_string(minimum));
  return value;
}

c10::intrusive_ptr<c10d::Store> connect_store(const Layout& layout, std::chrono::milliseconds timeout) {
  const std::string host(environment("MASTER_ADDR", "127.0.0.1"));
  c10d::TCPStoreOptions options;
  // A single rank needs no address that others know: any free port will do.
  options.port = static_cast<uint16_t>(integer_from_env("MASTER_PORT", layout.world_size == 1 ? "0" : "29500", 0));
  options.isServer = layout.rank == 0;
  options.numWorkers = static_cast<size_t>(layout.world_size);
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  } catch (const std::exception& error) {
    throw std::runtime_error("rank " + std::to_string(layout.rank) + " cannot meet the others at " + host + ':' +
                             std::to_string(options.port) + " (MASTER_ADDR, MASTER_PORT): " + message_of(error));
  }
}

// Ranks of one node talk over the loopback; otherwise over the address that the host's name stands for.
std::shared_ptr<gloo::transport::Device> make_device() {
  const std::string master(environment("MASTER_ADDR", "127.0.0.1"));
  const bool one_node = master == "127.0.0.1" || master == "localhost";
  return one_node ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                  : c10d::ProcessGroupGloo::createDefaultDevice();
}

Group make_group(const std::string& name, const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                 std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(make_device());
  options->threads = 1;
  auto prefixed = c10::make_intrusive<c10d::PrefixStore>(name, store);
  return {name, c10::make_intrusive<c10d::ProcessGroupGloo>(prefixed, rank, size, options)};
}

}  // namespace

Layout layout_from_env() {
  Layout layout;
  layout.world_size = integer_from_env("WORLD_SIZE", "1", 1);
  layout.rank = integer_from_env("RANK", "0", 0);
  if (layout.rank >= layout.world_size)
    throw std::invalid_argument("RANK=" + std::to_string(layout.rank) +
                                " must be less than WORLD_SIZE=" + std::to_string(layout.world_size));
  layout.data_size = layout.world_size;
  return layout;
}

Group::Group(std::string name, c10::intrusive_ptr<c10d::ProcessGroup> process_group)
    : name_(std::move(name)), process_group_(std::move(process_group)) {}

void Group::attempt(const char* what, const std::function<void()>& operation) const {
  try {
    operation();
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string(what) + " in group " + name_ + " failed; is a rank gone? " +
                             message_of(error));
  }
}

c10::intrusive_ptr<c10d::Work> Group::start_all_reduce_sum(at::Tensor& tensor) const {
  std::vector<at::Tensor> tensors{tensor};
  return process_group_->allreduce(tensors);
}

void Group::all_reduce_sum(at::Tensor& tensor) const {
  attempt("all-reduce", [&] { start_all_reduce_sum(tensor)->wait(); });
}

void Group::broadcast(at::Tensor& tensor, int source) const {
  std::vector<at::Tensor> tensors{tensor};
  c10d::BroadcastOptions options;
  options.rootRank = source;
  attempt("broadcast", [&] { process_group_->broadcast(tensors, options)->wait(); });
}

void Group::barrier() const {
  attempt("barrier", [&] { process_group_->barrier()->wait(); });
}

Groups::Groups(const Layout& layout, std::chrono::milliseconds timeout)
    : Groups(layout, connect_store(layout, timeout), timeout) {}

Groups::Groups(const Layout& layout, c10::intrusive_ptr<c10d::Store> store, std::chrono::milliseconds timeout)
    : world(make_group("world", store, layout.rank, layout.world_size, timeout)),
      pipeline(make_group("pipeline-" + std::to_string(layout.replica()), store, layout.stage(), layout.pipeline_size,
                          timeout)),
      data(make_group("data-" + std::to_string(layout.stage()), store, layout.replica(), layout.data_size, timeout)),
      store_(std::move(store)) {}

}  // namespace gpt
