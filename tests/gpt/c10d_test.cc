// SPDX-License-Identifier: Apache-2.0
// Contexts between the ranks of a process group: Gloo, its ranks threads of this process.
#include "lens/c10d.h"

#include <gmock/gmock.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <array>
#include <barrier>
#include <functional>
#include <latch>
#include <thread>

#include "lens/propagation.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int ranks = 4;

/// A rank's place in the group, until it leaves: with it go its connections.
struct Member {
  explicit Member(const c10::intrusive_ptr<c10d::Store>& store, int rank) {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(60));
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, ranks, options);
  }
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
};

void run_members(const std::function<void(int rank, Member&)>& body) {
  auto store = c10::make_intrusive<c10d::HashStore>();
  std::barrier<> leave(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Member member(store, rank);
      body(rank, member);
      leave.arrive_and_wait();
    });
}

void run_ranks(const std::function<void(c10d::ProcessGroup&)>& body) {
  run_members([&](int, Member& member) { body(*member.group); });
}

constexpr auto limit = std::chrono::seconds(2);  // who comes has come by then, on a loaded machine too
constexpr auto from_rank_2 = "nothing came from rank 2 of the group, the source: it did not come to the broadcast, or ";

// What a rank's broadcast throws; empty when it throws nothing.
std::string failure_of(lens::C10dCommunicator& communicator, int source) try {
  std::array<std::byte, 32> bytes{};
  communicator.broadcast(bytes, source);
  return {};
} catch (const std::runtime_error& error) {
  return error.what();
}

std::string failure_of(c10d::ProcessGroup& group, int source) {
  lens::C10dCommunicator communicator(group, limit);
  return failure_of(communicator, source);
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
    EXPECT_THAT(failure_of(group, 2), StartsWith(from_rank_2));
  });
}

// Contract: 5.missing
TEST(C10dCommunicator, NamesToTheSourceWhoeverIsMissing) {
  run_ranks([](c10d::ProcessGroup& group) {
    if (group.getRank() == 2) return;
    const std::string failure = failure_of(group, 0);
    if (group.getRank() == 0)
      EXPECT_THAT(failure, StartsWith("rank 2 of the group did not come to the broadcast: "));
    else
      EXPECT_EQ(failure, "");
  });
}

/// What the others do when rank 2 has left, after a broadcast that was well.
void run_without_rank_2(const std::function<void(c10d::ProcessGroup&)>& body) {
  std::latch gone(1);
  run_members([&](int rank, Member& member) {
    EXPECT_EQ(failure_of(*member.group, 0), "");
    if (rank == 2) {
      member.group.reset();
      gone.count_down();
      return;
    }
    gone.wait();
    body(*member.group);
  });
}

// Contract: 5.missing
TEST(C10dCommunicator, NamesASourceThatHasGone) {
  run_without_rank_2([](c10d::ProcessGroup& group) { EXPECT_THAT(failure_of(group, 2), StartsWith(from_rank_2)); });
}

// Contract: 5.missing
TEST(C10dCommunicator, NamesToTheSourceWhoHasGoneAndServesTheOthers) {
  run_without_rank_2([](c10d::ProcessGroup& group) {
    lens::C10dCommunicator communicator(group, limit);
    for (const std::string earlier : {"", "an earlier broadcast in this group failed: "}) {
      const std::string failure = failure_of(communicator, 0);
      if (group.getRank() == 0)
        EXPECT_THAT(failure, StartsWith(earlier + "rank 2 of the group did not come to the broadcast: "));
      else
        EXPECT_EQ(failure, "");
    }
  });
}

// Contract: 5.missing-others
TEST(C10dCommunicator, BlamesNobodyWhoCameAfterALimitHasPassed) {
  const std::string earlier = "an earlier broadcast in this group failed: ";
  run_ranks([&](c10d::ProcessGroup& group) {
    lens::C10dCommunicator communicator(group, limit);
    EXPECT_EQ(failure_of(communicator, 1), "");
    if (group.getRank() == 2) return;
    if (group.getRank() != 1) {
      EXPECT_EQ(failure_of(communicator, 1), "");
    }
    const std::string first = failure_of(communicator, 1);
    if (group.getRank() == 1)
      EXPECT_THAT(first, StartsWith("rank 2 of the group did not come to the broadcast: "));
    else
      EXPECT_THAT(first, StartsWith("nothing came from rank 1 of the group, the source: it did not come to the "
                                    "broadcast, or one before failed there, and its own error says for whom: "));
    for (int broadcast = 0; broadcast < 3; ++broadcast) EXPECT_EQ(failure_of(communicator, 1), earlier + first);
  });
}

// Contract: 5.rounds
TEST(C10dCommunicator, HasTheSourcesRoundForWhoWasToldThatItSkippedOne) {
  run_ranks([](c10d::ProcessGroup& group) {
    lens::C10dCommunicator communicator(group);
    for (const int round : {1, 2, 3, 4, 5}) {
      const bool is_skipped = round == 2 || round == 3;
      if (group.getRank() == 0 && is_skipped) continue;
      try {
        lens::broadcast_trace_context(communicator, 0, round);
        EXPECT_FALSE(is_skipped);
      } catch (const std::runtime_error& error) {
        EXPECT_TRUE(is_skipped);
        EXPECT_THAT(error.what(), HasSubstr("rank 0 is at round 4 of the broadcast"));
      }
    }
  });
}

// Contract: 5.rounds
TEST(C10dCommunicator, HasNothingLeftOfARoundThatARankSkipped) {
  run_ranks([](c10d::ProcessGroup& group) {
    lens::C10dCommunicator communicator(group);
    for (const int round : {1, 2, 3}) {
      if (group.getRank() == 2 && round == 2) continue;
      lens::broadcast_trace_context(communicator, 0, round);
    }
    std::array<std::byte, 40> last{};
    if (group.getRank() == 0) last.fill(std::byte{7});
    communicator.broadcast(last, 0);
    EXPECT_EQ(last.front(), std::byte{7});
  });
}

}  // namespace
