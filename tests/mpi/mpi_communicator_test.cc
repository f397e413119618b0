// SPDX-License-Identifier: Apache-2.0
// Contexts between the ranks of a real MPI job: every rank runs every test.
#include "lens/mpi.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <optional>

#include "tests/flow/recorded_trace.h"

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

// Contract: 5.missing
TEST(MissingRank, ThatIsTheSourceIsNamedToAllWhoWait) {
  MpiCommunicator communicator(MPI_COMM_WORLD, milliseconds(200));
  const auto began = std::chrono::steady_clock::now();
  try {
    if (communicator.rank() == 2) throw std::runtime_error("no batch");
    EXPECT_EQ(failure_of(communicator, 2), "rank 2 did not come to its broadcast within 200 ms");
    EXPECT_EQ(failure_of(communicator, 0), "an earlier broadcast in this MPI communicator failed");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no batch");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing
TEST(MissingRank, ThatIsNotTheSourceKeepsNobodyWaitingButTheSourceWhichNamesIt) {
  MpiCommunicator communicator(MPI_COMM_WORLD, milliseconds(500));
  if (communicator.rank() == 0) {
    EXPECT_EQ(failure_of(communicator, 0), "");
    EXPECT_EQ(failure_of(communicator, 0), "rank 2 did not come to the broadcast of rank 0 within 500 ms");
    EXPECT_EQ(failure_of(communicator, 0), "an earlier broadcast in this MPI communicator failed");
  } else if (communicator.rank() != 2) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(failure_of(communicator, 0), "");
    EXPECT_EQ(failure_of(communicator, 0), "");
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(450));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contract: 5.missing
TEST(MissingRank, FromTheLastBroadcastIsNamedWhenTheSourceFinishes) {
  MpiCommunicator communicator(MPI_COMM_WORLD, milliseconds(500));
  const auto began = std::chrono::steady_clock::now();
  if (communicator.rank() != 2) {
    EXPECT_EQ(failure_of(communicator, 0), "");
  }
  if (communicator.rank() == 0) {
    try {
      communicator.finish();
      ADD_FAILURE() << "rank 2 has not come";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "rank 2 did not come to the broadcast of rank 0 within 500 ms");
    }
    communicator.finish();  // it is said once
  } else {
    communicator.finish();
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(450));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (communicator.rank() != 2) {
    EXPECT_EQ(failure_of(communicator, 0), "") << "it is of use to the others after that";
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
