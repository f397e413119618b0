// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "src/record/layout.h"
#include "tests/support/temporary_directory.h"

namespace lens::launch {
namespace {

TEST(ParseIteration, reads_megatrons_line) {
  auto iteration = parse_iteration(
      " iteration       10/     100 | consumed samples:           80 | elapsed time per iteration (ms): 12.3 | "
      "learning rate: "
      "1.000000E-03 | lm loss: 2.345678E+00 | grad norm: 0.123 |");
  ASSERT_TRUE(iteration);
  EXPECT_EQ(iteration->number, 10);
  EXPECT_EQ(iteration->total, 100);
  EXPECT_EQ(iteration->step_time_ms, 12.3);
  EXPECT_EQ(iteration->loss, 2.345678);
}

TEST(ParseIteration, reads_a_line_with_a_time_stamp_and_without_a_loss) {
  auto iteration = parse_iteration("[2026-11-29 20:15:30] iteration 3/ 10 | consumed samples: 3 |");
  ASSERT_TRUE(iteration);
  EXPECT_EQ(iteration->number, 3);
  EXPECT_FALSE(iteration->loss);
  EXPECT_FALSE(iteration->step_time_ms);
}

TEST(ParseIteration, gives_nothing_for_other_lines) {
  for (const char* line :
       {"", "iteration", "iteration 3", "iteration a/b |", "saving checkpoint at iteration 10/100", "loss: 2 | x"}) {
    EXPECT_FALSE(parse_iteration(line)) << line;
  }
}

TEST(ProgressText, says_what_is_known) {
  EXPECT_EQ(progress_text({}, {}), "");
  EXPECT_EQ(
      progress_text(Iteration{.number = 10, .total = 100, .step_time_ms = 12.34, .loss = 2.3}, SpanCounts{1234, 5}),
      "iteration 10/100 · 12.34 ms a step · loss 2.3 · 1234 spans, 5 dropped");
  EXPECT_EQ(progress_text({}, SpanCounts{1, 0}), "1 span, 0 dropped");
}

std::string ring_file(const char* run_id, std::uint64_t recorded, std::uint64_t dropped) {
  std::string bytes(sizeof(record::FileHeader), '\0');
  auto* header = new (bytes.data()) record::FileHeader();
  std::memcpy(header->magic, record::layout_magic, sizeof header->magic);
  header->version = record::layout_version;
  std::strcpy(header->run_id, run_id);
  header->header_bytes = sizeof(record::FileHeader);
  header->ring_header_bytes = sizeof(record::RingHeader);
  header->counters.spans_recorded = recorded;
  header->counters.spans_dropped = dropped;
  return bytes;
}

TEST(SharedCounters, add_up_the_ranks_of_this_run) {
  tests::TemporaryDirectory directory;
  SharedCounters counters(directory.path(), "mine");
  EXPECT_FALSE(counters.read());
  directory.write("a.ring", ring_file("mine", 10, 1));
  directory.write("b.ring", ring_file("mine", 20, 2));
  directory.write("c.ring", ring_file("another", 100, 100));
  directory.write("d.ring", "too short to be a ring file");
  auto sum = counters.read();
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->recorded, 30u);
  EXPECT_EQ(sum->dropped, 3u);
}

TEST(SharedCounters, read_what_a_rank_counted_last_when_its_file_is_gone) {
  tests::TemporaryDirectory directory;
  SharedCounters counters(directory.path(), "mine");
  directory.write("a.ring", ring_file("mine", 10, 1));
  counters.read();
  // It goes on to count in the file, which it removes at its end.
  const int file = open((directory.path() / "a.ring").c_str(), O_WRONLY | O_CLOEXEC);
  std::filesystem::remove(directory.path() / "a.ring");
  const std::string last = ring_file("mine", 12, 1);
  EXPECT_EQ(pwrite(file, last.data(), last.size(), 0), static_cast<ssize_t>(last.size()));
  close(file);
  EXPECT_EQ(counters.read()->recorded, 12u);
}

TEST(SharedCounters, are_unknown_where_there_is_no_shared_memory) {
  EXPECT_FALSE(SharedCounters("", "mine").read());
  EXPECT_FALSE(SharedCounters("/nowhere/at/all", "mine").read());
}

}  // namespace
}  // namespace lens::launch
