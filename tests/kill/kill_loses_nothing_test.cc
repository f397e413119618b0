// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "src/record/ring_file.h"
#include "tests/kill/workload.h"
#include "tools/trace/trace.h"

namespace lens::tests {
namespace {

void wait_for(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

using namespace lens::literals;

std::chrono::microseconds random_delay(std::chrono::microseconds most) {
  static std::mt19937 generator{std::random_device{}()};
  return std::chrono::microseconds(std::uniform_int_distribution<long>(0, most.count())(generator));
}

// Contract: 3.sigkill, L12
TEST(Kill, AtARandomMomentLosesNothingThatHadEnded) {
  constexpr int rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const RunPlace place;
    const Shared<Ledger> ledger;
    const bool pauses = round % 5 != 0;
    Child child([&] { work(*ledger, place.config(), pauses); });
    wait_for([&] { return ledger->job_after_ns != 0; });
    std::this_thread::sleep_for(random_delay(std::chrono::milliseconds(pauses ? 60 : 20)));
    child.kill();
    const auto recoveries = place.recover();
    EXPECT_EQ(recoveries.size(), 1u);
    EXPECT_EQ(place.ring_file_count(), 0u);
    expect_all_recorded(*ledger, place.trace());
    if (testing::Test::HasFailure()) break;
  }
}

std::size_t trace_file_count(const RunPlace& place) {
  return std::filesystem::exists(place.traces()) ? trace::open_trace(place.traces()).files.size() : 0;
}

// Contract: C25
TEST(Kill, WhenItsFileHasJustBeenFollowedByTheNextLosesAndRepeatsNothing) {
  constexpr std::size_t rounds = 40;
  for (std::size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const RunPlace place;
    const Shared<Ledger> ledger;
    Config config = place.config();
    config.file_max_size_bytes = 4096;  // hardly more than a message
    config.standard.span_batch.max_export_batch_size = 50;
    Child child([&] { work(*ledger, config, true); });
    const std::size_t files = 2 + round % 12;
    wait_for([&] { return trace_file_count(place) >= files; });
    child.kill();
    EXPECT_EQ(place.recover().size(), 1u);
    EXPECT_GE(trace_file_count(place), files);
    expect_all_recorded(*ledger, place.trace());
    if (testing::Test::HasFailure()) break;
  }
}

// Contract: 5.launcher
TEST(Kill, LeavesRootsUnderTheSpanThatTheProcessWasStartedIn) {
  const RunPlace place;
  const Shared<Ledger> ledger;
  Config config = place.config();
  config.started_in.context = {{{1, 2, 3}}, {{4, 5, 6}}, SpanContext::sampled};
  Child child([&] { work(*ledger, config, true); });
  wait_for([&] { return ledger->steps[0].ended > 100; });
  child.kill();
  place.recover();
  const RecordedTrace trace = place.trace();
  const RecordedSpan& job = trace.only("job");
  EXPECT_TRUE(job.truncated());
  EXPECT_EQ(job.parent_id, config.started_in.context.span_id.hex());
  for (const RecordedSpan& span : trace.spans) {
    const bool is_in = span.trace_id == config.started_in.context.trace_id.hex();
    EXPECT_EQ(is_in, span.name != "request") << span.name;  // an explicit root
  }
}

TEST(Kill, DuringShutdownLosesNothingThatHadEnded) {
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const RunPlace place;
    const Shared<Ledger> ledger;
    Child child([&] {
      Config config = place.config();
      config.standard.span_batch.schedule_delay = std::chrono::hours(1);  // all is left to the shutdown
      work(*ledger, config, true);
    });
    wait_for([&] { return ledger->steps[0].ended > 100; });
    ledger->stop = true;
    std::this_thread::sleep_for(random_delay(std::chrono::milliseconds(8)));
    child.kill();
    place.recover();
    expect_all_recorded(*ledger, place.trace());
    if (testing::Test::HasFailure()) break;
  }
}

TEST(Kill, OfSeveralProcessesLeavesTheSpansOfEach) {
  const RunPlace place;
  constexpr int ranks = 3;
  const Shared<std::array<Ledger, ranks>> ledgers;
  std::vector<std::unique_ptr<Child>> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(std::make_unique<Child>([&] { work((*ledgers)[std::size_t(rank)], place.config(), true); }));
  }
  for (const Ledger& ledger : *ledgers) wait_for([&] { return ledger.steps[0].ended > 100; });
  for (const auto& child : children) child->kill();
  EXPECT_EQ(place.recover().size(), std::size_t(ranks));
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.count("job"), std::size_t(ranks));
  std::uint64_t ended = 0;
  for (const Ledger& ledger : *ledgers)
    for (const Lane& lane : ledger.steps) ended += lane.ended;
  EXPECT_GE(trace.count("step"), ended);
}

TEST(Kill, LeavesAProcessThatLivesAlone) {
  const RunPlace place;
  const Shared<Ledger> ledger;
  Child child([&] { work(*ledger, place.config(), true); });
  wait_for([&] { return ledger->steps[0].ended > 0; });
  EXPECT_TRUE(place.recover().empty());
  EXPECT_EQ(place.ring_file_count(), 1u);
}

TEST(Recovery, ASecondTimeFindsNothing) {
  const RunPlace place;
  const Shared<Ledger> ledger;
  Child child([&] { work(*ledger, place.config(), true); });
  wait_for([&] { return ledger->steps[0].ended > 100; });
  child.kill();
  EXPECT_EQ(place.recover().size(), 1u);
  const std::size_t spans = place.trace().spans.size();
  EXPECT_TRUE(place.recover().empty());
  EXPECT_EQ(place.trace().spans.size(), spans);
}

TEST(Recovery, ThatIsKilledItselfIsDoneAgainWithoutLossOrRepetition) {
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const RunPlace place;
    const Shared<Ledger> ledger;
    Child child([&] { work(*ledger, place.config(), false); });
    wait_for([&] { return ledger->steps[0].ended > 500; });
    child.kill();
    Child recovering([&] { place.recover(); });
    std::this_thread::sleep_for(random_delay(std::chrono::milliseconds(20)));
    recovering.kill();
    place.recover();
    expect_all_recorded(*ledger, place.trace());
    if (testing::Test::HasFailure()) break;
  }
}

TEST(Recovery, ByTwoAtOnceIsDoneByOne) {
  const RunPlace place;
  const Shared<Ledger> ledger;
  Child child([&] { work(*ledger, place.config(), true); });
  wait_for([&] { return ledger->steps[0].ended > 100; });
  child.kill();
  Child first([&] { place.recover(); }), second([&] { place.recover(); });
  first.wait();
  second.wait();
  expect_all_recorded(*ledger, place.trace());
}

TEST(Recovery, RedactsWhatTheProcessWouldHave) {
  const RunPlace place;
  Child child([&] {
    Config config = place.config();
    config.redacted_keys = {"mine"};
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    { auto ended = managed_span(SpanGroup::step, "ended", "mine"_a = "private", "token"_a = "public here"); }
    auto open = managed_span(SpanGroup::step, "open", "mine"_a = "private");
    _exit(0);
  });
  child.wait();
  place.recover();
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.only("ended").at<std::string>("mine"), "[REDACTED]");
  EXPECT_EQ(trace.only("ended").at<std::string>("token"), "public here");
  EXPECT_EQ(trace.only("open").at<std::string>("mine"), "[REDACTED]");
}

TEST(Recovery, RedactsNothingWhereTheProcessDoesNot) {
  const RunPlace place;
  Child child([&] {
    Config config = place.config();
    config.redacted_keys.clear();
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    auto open = managed_span(SpanGroup::step, "open", "token"_a = "public here");
    _exit(0);
  });
  child.wait();
  place.recover();
  EXPECT_EQ(place.trace().only("open").at<std::string>("token"), "public here");
}

TEST(Recovery, RedactsAlsoBesideAResourceThatIsTooLongToBeKept) {
  const RunPlace place;
  const Shared<std::atomic<int>> said;
  Child child([&] {
    Config config = place.config();
    config.redacted_keys = {"mine"};
    config.on_error = [&](std::string_view line) {
      if (line.find("will lack much, most") != line.npos) ++*said;
    };
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1},
                                     {{"much", std::string(18'000, 'x')}, {"most", std::string(17'000, 'x')}});
    auto open = managed_span(SpanGroup::step, "open", "mine"_a = "private");
    _exit(0);
  });
  child.wait();
  EXPECT_EQ(said->load(), 1);
  place.recover();
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.only("open").at<std::string>("mine"), "[REDACTED]");
}

TEST(Recovery, OfAProcessThatDiedBeforeItsFirstSpanHasNothingToSay) {
  const RunPlace place;
  Child child([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    _exit(0);
  });
  child.wait();
  const auto recoveries = place.recover();
  ASSERT_EQ(recoveries.size(), 1u);
  EXPECT_TRUE(recoveries[0].file.empty());
  EXPECT_EQ(place.ring_file_count(), 0u);
}

TEST(Recovery, OfAProcessThatDiedBeforeItRecordedHasNothingToSay) {
  const RunPlace place;
  std::string problem;
  ASSERT_TRUE(record::RingFile::create({place.rings(), "run-rank0-1700000000000-1.ring"}, problem)) << problem;
  EXPECT_EQ(place.recover().size(), 1u);
  EXPECT_EQ(place.ring_file_count(), 0u);
}

TEST(Recovery, SaysThatNamesFoundNoRoomInTheFile) {
  const RunPlace place;
  Child child([&] {
    auto telemetry = setup_telemetry(place.config(), {.rank = 0, .world_size = 1});
    for (int i = 0; i < 300; ++i) auto span = managed_span(SpanGroup::step, std::string(1000, 'x') + std::to_string(i));
    auto open = managed_span(SpanGroup::step, "a name that came too late");
    _exit(0);
  });
  child.wait();
  auto files = trace::find_ring_files(place.rings(), "");
  ASSERT_EQ(files.size(), 1u);
  const auto recovery = trace::recover(files[0]);
  ASSERT_TRUE(recovery);
  EXPECT_EQ(recovery->truncated, 1u);
  EXPECT_NE(testing::PrintToString(recovery->problems).find("the file lacks "), std::string::npos);
}

// The disk ends in the middle of a message, and the process there: its trace file has a torn tail.
TEST(Recovery, OfAProcessKilledInTheMiddleOfAWriteAndStartedAgainHasBothLives) {
  const RunPlace place;
  const Shared<std::array<Ledger, 2>> lives;
  Child first([&] {
    Config config = place.config();
    config.standard.span_batch.schedule_delay = std::chrono::hours(1);
    config.on_error = {};
    work((*lives)[0], config, false);
  });
  wait_for([&] { return (*lives)[0].steps[0].ended > 5000; });
  first.kill();
  const auto file = trace::open_trace(place.traces()).files.at(0);
  const std::string torn("\x00\x01\x00\x00half a message", 18);
  const int descriptor = open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_EQ(write(descriptor, torn.data(), torn.size()), ssize_t(torn.size()));
  close(descriptor);

  Child second([&] { work((*lives)[1], place.config(), true); });
  wait_for([&] { return (*lives)[1].steps[0].ended > 100; });
  second.kill();
  EXPECT_EQ(place.recover().size(), 2u);
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.count("job"), 2u);
  for (int thread = 0; thread < Ledger::thread_count; ++thread) {
    std::uint64_t ended = 0, found = 0;
    for (const Ledger& life : *lives) ended += life.steps[std::size_t(thread)].ended;
    for (const RecordedSpan& span : trace.spans)
      found += span.name == "step" && span.at<std::int64_t>("thread") == thread && !span.truncated();
    EXPECT_GE(found, ended);
    EXPECT_LE(found, ended + 2);
  }
  EXPECT_EQ(trace.problems.size(), 1u) << "the torn tail is reported, once";
}

}  // namespace
}  // namespace lens::tests
