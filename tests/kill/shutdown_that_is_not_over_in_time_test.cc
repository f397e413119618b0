// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <fcntl.h>

#include <fstream>
#include <sstream>

#include "tests/kill/child.h"

namespace lens::tests {
namespace {

/// From now on this process's standard output takes nothing, and whoever writes to it waits until what is returned is
/// read, which does not wait.
int clog_standard_output() {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const std::string kilobyte(1024, ' ');
  while (write(ends[1], kilobyte.data(), kilobyte.size()) > 0) {
  }
  EXPECT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
  EXPECT_EQ(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
  return ends[0];
}

/// Of a process whose exporter is stuck: the lines that it had to say.
std::string lines_of_one_that_is_stuck(const RunPlace& place, const std::string& shm_dir) {
  const std::filesystem::path lines_path = place.rings().parent_path() / "lines";
  Child child([&] {
    std::ofstream lines(lines_path);
    Config config = place.config();
    config.exporter = "console";
    config.run_id = "stuck";
    config.shm_dir = shm_dir;
    config.on_error = [&](std::string_view line) { lines << line << std::endl; };
    clog_standard_output();
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    for (int i = 0; i < 10; ++i) auto span = managed_span(SpanGroup::step, "step");
    telemetry.shutdown(std::chrono::milliseconds(100));
  });
  EXPECT_EQ(child.wait(), 0);
  std::ostringstream text;
  text << std::ifstream(lines_path).rdbuf();
  return text.str();
}

// Contract: 3.deadline
TEST(ShutdownThatIsNotOverInTime, SaysWhereItsSpansAreAndTheyAreThere) {
  const RunPlace place;
  const std::string lines = lines_of_one_that_is_stuck(place, place.rings());
  EXPECT_THAT(lines, testing::AllOf(testing::HasSubstr("shutdown was not over after 100 ms"),
                                    testing::HasSubstr("stays in " + place.rings().string()),
                                    testing::HasSubstr("`lens recover stuck`")));
  place.recover();
  EXPECT_EQ(place.trace().count("step"), 10u);
}

// Contract: 3.deadline
TEST(ShutdownThatIsNotOverInTime, SaysWhatFoundNoRoomMeanwhile) {
  const RunPlace place;
  const Shared<std::atomic<std::uint64_t>> dropped;
  const Shared<std::atomic<int>> said;
  Child child([&] {
    Config config = place.config();
    config.exporter = "console";
    config.on_error = [&](std::string_view line) {
      *said += line.starts_with(std::to_string(dropped->load()) + " spans lost; shutdown was not over");
    };
    clog_standard_output();
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    while (*dropped < 1000)
      if (!managed_span(SpanGroup::step, "step")) ++*dropped;
    telemetry.shutdown(std::chrono::milliseconds(100));
    EXPECT_EQ(telemetry.counters().spans_dropped, dropped->load());
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(said->load(), 1);
}

// Two pipelines would drain the same rings.
// Contract: 3.deadline
TEST(ShutdownThatIsNotOverInTime, LetsNobodyElseRecordUntilItIs) {
  const RunPlace place;
  const Shared<std::atomic<int>> said;
  Child child([&] {
    Config config = place.config();
    config.exporter = "console";
    config.on_error = [&](std::string_view line) { *said += line.starts_with("nothing is recorded: the exporter"); };
    const int unread = clog_standard_output();
    auto first = setup_telemetry(config, {.rank = 0, .world_size = 1});
    { auto span = managed_span(SpanGroup::step, "of the first"); }
    first.shutdown(std::chrono::milliseconds(100));
    config.exporter = "file";
    auto second = setup_telemetry(config, {.rank = 0, .world_size = 1});
    EXPECT_FALSE(second.is_exporting());
    EXPECT_FALSE(managed_span(SpanGroup::step, "of the second"));
    second.shutdown();
    EXPECT_EQ(said->load(), 1);
    for (bool is_recording = false; !is_recording;) {
      char taken[4096];
      while (read(unread, taken, sizeof taken) > 0) {
      }
      auto third = setup_telemetry(config, {.rank = 0, .world_size = 1});
      is_recording = third.is_exporting();
      auto span = managed_span(SpanGroup::step, "of the third");
    }
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(place.trace().names(), "of the third");
}

TEST(ShutdownThatIsNotOverInTime, SaysThatSpansInPrivateMemoryAreLost) {
  const RunPlace place;
  EXPECT_THAT(lines_of_one_that_is_stuck(place, ""), testing::HasSubstr("is lost with the process's private memory"));
}

}  // namespace
}  // namespace lens::tests
