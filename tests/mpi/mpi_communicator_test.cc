// SPDX-License-Identifier: Apache-2.0
// Contexts between the ranks of a real MPI job: every rank runs every test.
#include "lens/mpi.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include "tests/flow/recorded_trace.h"

namespace {
bool requests_come_at_the_second_look = false;
}

// MPI lets a program put its own functions in the place of its own. Here, so that something comes between two looks at
// it whenever a test wants that.
extern "C" int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  static std::set<MPI_Request> seen;
  if (!requests_come_at_the_second_look) return PMPI_Test(request, done, status);
  *done = !seen.insert(*request).second;
  if (!*done) return MPI_SUCCESS;
  seen.erase(*request);
  return PMPI_Wait(request, status);
}

namespace lens::tests {
namespace {

using std::chrono::milliseconds;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// What the ranks recorded together, for each of them to look at.
RecordedTrace record_ranks(const std::function<void(int rank, MpiCommunicator&)>& body) {
  std::array<char, 4096> shared{};
  std::optional<TemporaryDirectory> directory;
  if (world_rank() == 0) directory.emplace().path().string().copy(shared.data(), shared.size() - 1);
  MPI_Bcast(shared.data(), int(shared.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  {
    Config config = recording_config(shared.data());
    config.export_strategy = "all_ranks";
    auto telemetry = setup_telemetry(config, Rank::from_env());
    MpiCommunicator communicator(MPI_COMM_WORLD);
    body(communicator.rank(), communicator);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  RecordedTrace trace = read_trace(shared.data());
  MPI_Barrier(MPI_COMM_WORLD);
  return trace;
}

// Contract: 5.broadcast
TEST(MpiCommunicator, GivesAllRanksTheBytesOfEachSource) {
  MpiCommunicator communicator(MPI_COMM_WORLD);
  ASSERT_GE(communicator.size(), 3);
  for (int source = 0; source < communicator.size(); ++source) {
    std::array<int, 8> numbers{};
    if (communicator.rank() == source) numbers.fill(source + 1);
    communicator.broadcast(std::as_writable_bytes(std::span(numbers)), source);
    EXPECT_EQ(numbers.front(), source + 1);
    EXPECT_EQ(numbers.back(), source + 1);
  }
}

// Contract: 5.source
TEST(MpiCommunicator, FindsTheFirstRankThatExports) {
  MpiCommunicator communicator(MPI_COMM_WORLD);
  EXPECT_EQ(find_exporting_rank(communicator, communicator.size(), communicator.rank() >= 2), 2);
  EXPECT_EQ(find_exporting_rank(communicator, communicator.size(), false), -1);
}

// Contract: 5.linked, 5.adopted
TEST(MpiRanks, LinkToTheSourcesStepOrJoinItsTrace) {
  int ranks = 0;
  const RecordedTrace trace = record_ranks([&](int rank, MpiCommunicator& communicator) {
    ranks = communicator.size();
    const std::string number = std::to_string(rank);
    auto step = managed_span(SpanGroup::step, "step " + number);
    const SpanContext context = broadcast_trace_context(communicator, 1);
    { auto linked = create_linked_span(SpanGroup::step, "linked " + number, context); }
    auto adopted = adopt_span(SpanGroup::step, "adopted " + number, context);
  });
  const RecordedSpan& source = trace.only("step 1");
  for (int rank = 0; rank < ranks; ++rank) {
    const RecordedSpan& step = trace.only("step " + std::to_string(rank));
    const RecordedSpan& linked = trace.only("linked " + std::to_string(rank));
    EXPECT_EQ(linked.trace_id, step.trace_id);
    EXPECT_EQ(linked.parent_id, step.span_id);
    ASSERT_EQ(linked.links.size(), 1u);
    EXPECT_EQ(linked.links[0].span_id, source.span_id);
    EXPECT_EQ(linked.links[0].trace_id, source.trace_id);
    const RecordedSpan& adopted = trace.only("adopted " + std::to_string(rank));
    EXPECT_EQ(adopted.trace_id, source.trace_id);
    EXPECT_EQ(adopted.parent_id, source.span_id);
  }
}

// What a rank's broadcast throws; empty when it throws nothing.
std::string failure_of(MpiCommunicator& communicator, int source, std::size_t size = SpanContext::wire_bytes) try {
  std::vector<std::byte> bytes(size);
  communicator.broadcast(bytes, source);
  return {};
} catch (const std::runtime_error& error) {
  return error.what();
}

// Contract: 5.missing, 5.missing-others
TEST(MissingRank, ThatIsTheSourceIsNamedToAllWhoWaitAndKeepsThemFromNoOtherSource) {
  MpiCommunicator communicator(MPI_COMM_WORLD, milliseconds(2000));
  if (communicator.rank() != 2) {
    const std::string first = "rank 2 did not come to its broadcast within 2000 ms";
    EXPECT_EQ(failure_of(communicator, 2), first);
    for (int again = 0; again < 10; ++again)
      EXPECT_EQ(failure_of(communicator, 2), "an earlier broadcast in this MPI communicator failed: " + first);
    for (int source : {0, 1}) EXPECT_EQ(failure_of(communicator, source), "");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing, 5.missing-others
TEST(MissingRank, ThatIsNotTheSourceIsNamedByItAndTheOthersAreServedOn) {
  MpiCommunicator communicator(MPI_COMM_WORLD, milliseconds(4000));
  const auto began = std::chrono::steady_clock::now();
  for (int step = 1; step <= 20; ++step) {
    if (communicator.rank() == 2 && step > 1) continue;
    std::array<int, 8> numbers{};
    if (communicator.rank() == 1) numbers.fill(step);
    try {
      communicator.broadcast(std::as_writable_bytes(std::span(numbers)), 1);
      EXPECT_TRUE(communicator.rank() != 1 || step < 3) << step;
      EXPECT_EQ(numbers.back(), step);
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(communicator.rank(), 1) << step;
      EXPECT_STREQ(error.what(), "rank 2 did not come to the broadcast of rank 1 within 2000 ms");
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20)) << "it is waited for more than once";
  communicator.finish();  // it has been said
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The ranks of the world from `first` to `last`, numbered from 0; for the others none.
class Part {
 public:
  Part(int first, int last) {
    const bool is_in = world_rank() >= first && world_rank() <= last;
    MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, 0, &communicator_);
  }
  ~Part() {
    if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  explicit operator bool() const { return communicator_ != MPI_COMM_NULL; }
  operator MPI_Comm() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

// Contract: 5.missing-others, 5.rounds
TEST(MissingRank, ThatComesBackIsServedAgainAndNamedNoMore) {
  const Part pair(1, 2);
  if (pair) {
    MpiCommunicator communicator(pair, milliseconds(4000));
    int round = 1;
    const auto failure_of_next = [&] {
      try {
        broadcast_trace_context(communicator, 0, round++);
        return std::string();
      } catch (const std::runtime_error& error) {
        return std::string(error.what());
      }
    };
    EXPECT_EQ(failure_of_next(), "");
    if (communicator.rank() == 0) {
      while (round <= 5) failure_of_next();
    }
    MPI_Barrier(pair);
    round = 6;
    // Which round is the first to find it back, only the source knows.
    if (communicator.rank() == 0) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!failure_of_next().empty() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    } else {
      for (std::string failure; !(failure = failure_of_next()).empty();) {
        EXPECT_EQ(failure.find("rank 0 is at round "), 0u) << failure;
        if (HasFailure()) break;
      }
    }
    int rounds[] = {round, -round};
    MPI_Allreduce(MPI_IN_PLACE, rounds, 2, MPI_INT, MPI_MAX, pair);
    EXPECT_EQ(rounds[0], -rounds[1]) << "it has the context of another round";
    for (int broadcast = 0; broadcast < 3; ++broadcast) EXPECT_EQ(failure_of_next(), "");
    communicator.finish();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing-others
TEST(MissingRank, HasOnlyTheTwoMessagesOfWhenItWasMissedWaitingForIt) {
  const Part pair(1, 2);
  if (pair) {
    MpiCommunicator communicator(pair, milliseconds(world_rank() == 1 ? 400 : 2000));
    const auto take = [&] {
      std::array<int, 1> number{};
      communicator.broadcast(std::as_writable_bytes(std::span(number)), 0);
      return number[0];
    };
    for (int number = 1; communicator.rank() == 0 && number <= 10; ++number) {
      try {
        std::array<int, 1> numbers{number};
        communicator.broadcast(std::as_writable_bytes(std::span(numbers)), 0);
      } catch (const std::runtime_error&) {
      }
    }
    MPI_Barrier(pair);
    if (communicator.rank() == 1) {
      EXPECT_EQ(take(), 1);
      EXPECT_EQ(take(), 2);
      EXPECT_THROW(take(), std::runtime_error);
    }
    MPI_Barrier(pair);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing
TEST(MissingRank, OfACommunicatorThatNumbersItsRanksOtherwiseIsNamedByBothNumbers) {
  const Part part(1, 3);
  if (part) {
    MpiCommunicator communicator(part, milliseconds(2000));
    if (communicator.rank() == 0) {
      EXPECT_EQ(failure_of(communicator, 2),
                "rank 2 of the communicator (rank 3 of MPI_COMM_WORLD) did not come to its broadcast within 2000 ms");
    } else if (communicator.rank() == 1) {
      EXPECT_EQ(failure_of(communicator, 1), "");
      EXPECT_EQ(failure_of(communicator, 1),
                "rank 0 of the communicator (rank 1 of MPI_COMM_WORLD), rank 2 of the communicator (rank 3 of "
                "MPI_COMM_WORLD) did not come to the broadcast of rank 1 of the communicator (rank 2 of "
                "MPI_COMM_WORLD) within 1000 ms");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing
TEST(MissingRank, FromTheLastBroadcastIsNamedWhenTheSourceFinishes) {
  MpiCommunicator communicator(MPI_COMM_WORLD, milliseconds(2000));
  if (communicator.rank() != 2) {
    EXPECT_EQ(failure_of(communicator, 0), "");
  }
  if (communicator.rank() == 0) {
    try {
      communicator.finish();
      ADD_FAILURE() << "rank 2 has not come";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "rank 2 did not come to the broadcast of rank 0 within 2000 ms");
    }
  }
  communicator.finish();  // it is said once
  MPI_Barrier(MPI_COMM_WORLD);
  if (communicator.rank() == 0) {
    EXPECT_EQ(failure_of(communicator, 0), "rank 2 did not come to the broadcast of rank 0 within 1000 ms");
  } else if (communicator.rank() != 2) {
    EXPECT_EQ(failure_of(communicator, 0), "") << "it is of use to the others after that";
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing-others
TEST(MissingRank, ThatComesJustAsTheLimitPassesIsNotMissing) {
  const Part pair(1, 2);
  if (pair && world_rank() == 1) {
    MpiCommunicator communicator(pair, milliseconds(0));
    requests_come_at_the_second_look = true;
    for (int broadcast = 0; broadcast < 3; ++broadcast) EXPECT_EQ(failure_of(communicator, 0), "");
    requests_come_at_the_second_look = false;
  } else if (pair) {
    MpiCommunicator communicator(pair);
    for (int broadcast = 0; broadcast < 3; ++broadcast) EXPECT_EQ(failure_of(communicator, 0), "");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing
TEST(MpiCommunicator, FinishesWhenAllHaveCome) {
  MpiCommunicator communicator(MPI_COMM_WORLD, std::chrono::minutes(10));
  communicator.finish();  // nothing was sent
  for (int source : {0, 1}) EXPECT_EQ(failure_of(communicator, source), "");
  communicator.finish();
  EXPECT_EQ(failure_of(communicator, 1), "") << "it is of use after that";
  communicator.finish();
}

/// Of four steps, from rank 2 to rank 1, the source.
void expect_links_but_in_the_second_step(const RecordedTrace& trace) {
  for (const std::string number : {"1", "3", "4"}) {
    const RecordedSpan& linked = trace.only("linked 2." + number);
    ASSERT_EQ(linked.links.size(), 1u);
    EXPECT_EQ(linked.links[0].span_id, trace.only("step 1." + number).span_id);
  }
}

// Contract: 5.rounds
TEST(RankThatSkipsABroadcast, GetsTheContextOfItsOwnStepFromTheNextOneOn) {
  const RecordedTrace trace = record_ranks([&](int rank, MpiCommunicator& communicator) {
    for (int number = 1; number <= 4; ++number) {
      const std::string name = std::to_string(rank) + "." + std::to_string(number);
      auto step = managed_span(SpanGroup::step, "step " + name);
      if (rank == 2 && number == 2) continue;
      auto linked =
          create_linked_span(SpanGroup::step, "linked " + name, broadcast_trace_context(communicator, 1, number));
    }
  });
  expect_links_but_in_the_second_step(trace);
}

// Contract: 5.rounds
TEST(SourceThatSkipsABroadcast, IsNamedToTheOthersWithBothRounds) {
  MpiCommunicator communicator(MPI_COMM_WORLD);
  if (communicator.rank() == 1) {
    broadcast_trace_context(communicator, 1, 6);
  } else {
    try {
      broadcast_trace_context(communicator, 1, 5);
      ADD_FAILURE() << "the context of another step was taken";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "rank 1 is at round 6 of the broadcast of trace contexts, this rank at round 5");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.rounds
TEST(SourceThatSkipsABroadcast, IsRightAgainAtItsNextOneForAll) {
  const RecordedTrace trace = record_ranks([&](int rank, MpiCommunicator& communicator) {
    for (int number = 1; number <= 4; ++number) {
      const std::string name = std::to_string(rank) + "." + std::to_string(number);
      auto step = managed_span(SpanGroup::step, "step " + name);
      if (rank == 1 && number == 2) continue;
      try {
        auto linked =
            create_linked_span(SpanGroup::step, "linked " + name, broadcast_trace_context(communicator, 1, number));
        EXPECT_NE(number, 2);
      } catch (const std::runtime_error&) {
        EXPECT_EQ(number, 2);
      }
    }
  });
  expect_links_but_in_the_second_step(trace);
}

// Contract: 5.source
TEST(NobodyWhoExports, IsNoSourceAndNothingIsSent) {
  MpiCommunicator communicator(MPI_COMM_WORLD, std::chrono::minutes(10));
  if (communicator.rank() == 0) {
    EXPECT_FALSE(broadcast_trace_context(communicator, -1));
  }
  EXPECT_THROW(failure_of(communicator, -1), std::invalid_argument);
  EXPECT_EQ(failure_of(communicator, 0), "");  // it is of use after that
}

TEST(MpiCommunicator, WaitsForARankThatIsLateAndForNoneThatHasItsMessage) {
  MpiCommunicator communicator(MPI_COMM_WORLD, milliseconds::max());
  constexpr std::size_t large = 8 << 20;  // not kept by MPI on the way
  for (int broadcast = 0; broadcast < 3; ++broadcast) EXPECT_EQ(failure_of(communicator, 0, large), "");
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace lens::tests

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  lens::MpiCommunicator outlives_mpi(MPI_COMM_WORLD);
  std::array<std::byte, 1> bytes{};
  outlives_mpi.broadcast(bytes, 0);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  outlives_mpi.finish();  // MPI would end the process, were it asked
  return result;
}
