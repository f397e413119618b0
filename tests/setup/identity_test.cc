// SPDX-License-Identifier: Apache-2.0
#include "src/setup/identity.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/environment.h"

namespace lens::setup {
namespace {

using test::Environment;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

constexpr int many = 8;

std::string run_id(int rank = 0, std::vector<std::string>* warnings = nullptr, const Config& config = {}) {
  std::vector<std::string> found;
  const std::string id = derive_run_id(config, {.rank = rank, .world_size = many, .local_rank = 0}, found);
  if (warnings != nullptr) *warnings = found;
  return id;
}

/// The run id that a child process derives; its parent is this test.
std::string run_id_of_a_child(int rank) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string id = run_id(rank);
    _exit(write(ends[1], id.data(), id.size()) == static_cast<ssize_t>(id.size()) ? 0 : 1);
  }
  close(ends[1]);
  char id[64];
  const ssize_t size = read(ends[0], id, sizeof(id));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return size > 0 ? std::string(id, static_cast<std::size_t>(size)) : "";
}

// Contract: 3.run-id-configured
TEST(RunId, ThatIsConfiguredGoesBeforeAll) {
  Environment environment{{"SLURM_JOB_ID", "42"}, {"TORCHELASTIC_RUN_ID", "elastic"}};
  Config config;
  config.run_id = "mine";
  EXPECT_EQ(run_id(0, nullptr, config), "mine");
}

// Contract: 3.run-id-slurm
TEST(RunId, OfSlurmIsTheJobWithItsStep) {
  Environment environment{{"SLURM_JOB_ID", "42"}, {"TORCHELASTIC_RUN_ID", "elastic"}};
  EXPECT_EQ(run_id(), "42");
  environment.set("SLURM_STEP_ID", "0");
  EXPECT_EQ(run_id(), "42.0");
}

// Contract: 3.run-id-slurm
TEST(RunId, OfSlurmTellsArrayTasksAndRestartsApart) {
  Environment environment{{"SLURM_JOB_ID", "42"}, {"SLURM_STEP_ID", "1"}, {"SLURM_ARRAY_TASK_ID", "7"}};
  EXPECT_EQ(run_id(), "42_7.1");
  environment.set("SLURM_RESTART_COUNT", "0");
  EXPECT_EQ(run_id(), "42_7.1");
  environment.set("SLURM_RESTART_COUNT", "2");
  EXPECT_EQ(run_id(), "42_7.1-restart2");
}

// Contract: 3.run-id-torchrun
TEST(RunId, OfTorchrunIsItsRunIdWithItsRestart) {
  Environment environment{{"TORCHELASTIC_RUN_ID", "elastic"}, {"TORCHELASTIC_RESTART_COUNT", "0"}};
  EXPECT_EQ(run_id(), "elastic");
  environment.set("TORCHELASTIC_RESTART_COUNT", "3");
  EXPECT_EQ(run_id(), "elastic-restart3");
}

// Contract: 3.run-id-torchrun
TEST(RunId, NoneIsTorchrunsDefaultAndNoRunId) {
  Environment environment{{"TORCHELASTIC_RUN_ID", "none"}, {"LOCAL_WORLD_SIZE", "8"}};
  EXPECT_THAT(run_id(), MatchesRegex("[0-9a-f]{16}"));
}

// Contract: 3.run-id-one-node
TEST(RunId, OnOneNodeIsSharedByTheChildrenOfOneLauncher) {
  Environment environment{{"LOCAL_WORLD_SIZE", "8"}, {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};
  const std::string first = run_id_of_a_child(0);
  EXPECT_THAT(first, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(run_id_of_a_child(5), first);
}

// Contract: 3.run-id-one-node
TEST(RunId, OnOneNodeDiffersBetweenLaunchersWithTheSameRendezvous) {
  Environment environment{{"LOCAL_WORLD_SIZE", "8"}, {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};
  std::vector<std::string> warnings;
  EXPECT_NE(run_id(0, &warnings), run_id_of_a_child(0));  // this test's launcher is not this test
  EXPECT_THAT(warnings, IsEmpty());
}

// Contract: 3.run-id-rendezvous
TEST(RunId, OverSeveralNodesIsAHashOfTheRendezvousWithAWarning) {
  Environment environment{{"LOCAL_WORLD_SIZE", "4"}, {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};
  std::vector<std::string> warnings;
  const std::string id = run_id(0, &warnings);
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(run_id_of_a_child(7), id);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("collide")));
  environment.set("MASTER_PORT", "29501");
  EXPECT_NE(run_id(), id);
}

TEST(RunId, WithoutLauncherAndRendezvousWarnsThatNodesDiffer) {
  Environment environment;
  std::vector<std::string> warnings;
  EXPECT_THAT(run_id(0, &warnings), MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("set NEMO_LENS_RUN_ID")));
}

}  // namespace
}  // namespace lens::setup
