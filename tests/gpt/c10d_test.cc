// SPDX-License-Identifier: Apache-2.0
// Contexts between the ranks of a process group: Gloo, its ranks threads of this process.
#include "lens/c10d.h"

#include <gmock/gmock.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <array>
#include <barrier>
#include <functional>
#include <thread>

namespace {

using testing::StartsWith;

constexpr int ranks = 4;

void run_ranks(const std::function<void(c10d::ProcessGroup&)>& body) {
  auto store = c10::make_intrusive<c10d::HashStore>();
  std::barrier<> leave(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(60));
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
      c10d::ProcessGroupGloo group(store, rank, ranks, options);
      body(group);
      leave.arrive_and_wait();  // with its rank a thread's connections go
    });
}

// What a rank's broadcast throws; empty when it throws nothing.
std::string failure_of(c10d::ProcessGroup& group, int source) try {
  lens::C10dCommunicator communicator(group, std::chrono::milliseconds(300));
  std::array<std::byte, 32> bytes{};
  communicator.broadcast(bytes, source);
  return {};
} catch (const std::runtime_error& error) {
  return error.what();
}

// Contract: 5.broadcast
TEST(C10dCommunicator, GivesAllRanksTheBytesOfEachSource) {
  run_ranks([](c10d::ProcessGroup& group) {
    lens::C10dCommunicator communicator(group);
    for (int source = 0; source < ranks; ++source) {
      std::array<int, 8> numbers{};
      if (group.getRank() == source) numbers.fill(source + 1);
      communicator.broadcast(std::as_writable_bytes(std::span(numbers)), source);
      EXPECT_EQ(numbers.front(), source + 1);
      EXPECT_EQ(numbers.back(), source + 1);
    }
  });
}

// Contract: 5.missing
TEST(C10dCommunicator, NamesTheSourceWhenItIsMissing) {
  run_ranks([](c10d::ProcessGroup& group) {
    if (group.getRank() == 2) return;
    EXPECT_THAT(failure_of(group, 2), StartsWith("rank 2 of the group did not come to the broadcast: "));
  });
}

// Contract: 5.missing
TEST(C10dCommunicator, NamesToTheSourceWhoeverIsMissing) {
  run_ranks([](c10d::ProcessGroup& group) {
    if (group.getRank() == 2) return;
    const std::string failure = failure_of(group, 0);
    EXPECT_THAT(failure, StartsWith(group.getRank() == 0 ? "rank 2 of the group did not come to the broadcast: " : ""));
  });
}

}  // namespace
