// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/run_file.h"

#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>

#include "tests/support/temporary_directory.h"

namespace lens::trace {
namespace {

TEST(RunFile, reads_back_what_was_written) {
  tests::TemporaryDirectory directory;
  RunFile written{.run_id = "20261129-201530-7f3a",
                  .command = {"gpt", "--train-iters", "10"},
                  .span_groups = "per_step",
                  .world_size = 2,
                  .start_ns = 1'795'981'548'793'498'166,
                  .end_ns = 1'795'981'549'000'000'000,
                  .ranks = {{.rank = 0, .exit_code = 3, .signal = 0}, {.rank = 1, .exit_code = 0, .signal = SIGTERM}},
                  .failed_rank = 0};
  write_run_file(directory.path(), written);
  auto run = read_run_file(directory.path());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run_id, written.run_id);
  EXPECT_EQ(run->command, written.command);
  EXPECT_EQ(run->span_groups, written.span_groups);
  EXPECT_EQ(run->world_size, 2);
  EXPECT_EQ(run->start_ns, written.start_ns);
  EXPECT_EQ(run->end_ns, written.end_ns);
  ASSERT_EQ(run->ranks.size(), 2u);
  EXPECT_EQ(run->ranks[0].exit_code, 3);
  EXPECT_EQ(run->ranks[1].signal, SIGTERM);
  EXPECT_EQ(run->failed_rank, 0);
}

TEST(RunFile, is_nothing_where_there_is_none) {
  tests::TemporaryDirectory directory;
  EXPECT_FALSE(read_run_file(directory.path()));
}

TEST(RunFile, refuses_what_lens_did_not_write) {
  tests::TemporaryDirectory directory;
  for (const char* content : {"", "{", R"({"world_size":"two"})", R"({"ranks":[7]})"}) {
    directory.write("run.json", content);
    EXPECT_THROW(read_run_file(directory.path()), std::invalid_argument) << content;
  }
}

TEST(StatusFile, counts_nothing_for_names_that_are_missing) {
  tests::TemporaryDirectory directory;
  Status status =
      read_status_file(directory.write("status-rank0-1-1.json", R"({"spans_recorded":10,"spans_dropped":2})"));
  EXPECT_EQ(status.spans_recorded, 10u);
  EXPECT_EQ(status.spans_exported, 0u);
  EXPECT_EQ(status.spans_dropped, 2u);
  EXPECT_THROW(read_status_file(directory.write("status-x.json", "[]")), std::invalid_argument);
}

TEST(RankExit, is_described_in_words) {
  EXPECT_EQ(describe({.rank = 1, .exit_code = 3, .signal = 0}), "exited with code 3");
  EXPECT_EQ(describe({.rank = 1, .exit_code = 0, .signal = SIGKILL}), "was killed by SIGKILL");
}

}  // namespace
}  // namespace lens::trace
