// SPDX-License-Identifier: Apache-2.0
#include "lens/rank.h"

#include <gmock/gmock.h>

#include "src/setup/rank.h"
#include "tests/support/environment.h"

namespace lens {
namespace {

using test::Environment;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void expect_rank(const Rank& found, int rank, int world_size, int local_rank) {
  EXPECT_EQ(found.rank, rank);
  EXPECT_EQ(found.world_size, world_size);
  EXPECT_EQ(found.local_rank, local_rank);
  EXPECT_THAT(found.warnings, IsEmpty());
}

TEST(Rank, WithoutALauncherIsZeroOfOne) {
  Environment environment;
  expect_rank(Rank::from_env(), 0, 1, 0);
}

// Contract: 2.launchers
TEST(Rank, TellsTheVariablesThatItIsReadFrom) {
  Environment environment{{"SLURM_PROCID", "0"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}};
  const auto variables = setup::rank_variables();
  ASSERT_TRUE(variables);
  EXPECT_EQ(variables->rank, "PMI_RANK");
  EXPECT_EQ(variables->world_size, "PMI_SIZE");
  for (const char* name : {"SLURM_PROCID", "PMI_RANK"}) environment.unset(name);
  EXPECT_FALSE(setup::rank_variables());
}

// Contract: 2.launchers
TEST(Rank, ReportsAMalformedVariableOnce) {
  Environment environment{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "first"}};
  EXPECT_THAT(Rank::from_env().warnings, ElementsAre(HasSubstr("LOCAL_RANK")));
}

// Contract: 2.launchers
TEST(Rank, IsReadFromTorchrun) {
  Environment environment{{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}};
  expect_rank(Rank::from_env(), 5, 8, 1);
}

// Contract: 2.launchers
TEST(Rank, IsReadFromSlurm) {
  Environment environment{{"SLURM_JOB_ID", "42"},         {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "9"},
                          {"SLURM_STEP_NUM_TASKS", "16"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "1"}};
  expect_rank(Rank::from_env(), 9, 16, 1);
  EXPECT_EQ(setup::rank_variables()->world_size, "SLURM_STEP_NUM_TASKS");
}

// Contract: 2.launchers
TEST(Rank, OfSlurmIsOneOfItsStepNotOfTheJob) {
  Environment environment{{"SLURM_JOB_ID", "42"},        {"SLURM_STEP_ID", "3"}, {"SLURM_PROCID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "0"}};
  expect_rank(Rank::from_env(), 0, 2, 0);
}

// Contract: 2.batch-script
TEST(Rank, OfABatchScriptIsZeroOfOne) {
  Environment environment{
      {"SLURM_JOB_ID", "42"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "0"}};
  expect_rank(Rank::from_env(), 0, 1, 0);
  EXPECT_FALSE(setup::rank_variables());
}

// Contract: 2.batch-script
TEST(Rank, OfASlurmTaskIsReadWhereOnlySomeVariablesReachIt) {
  for (const char* name : {"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS"}) {
    Environment environment{{"SLURM_JOB_ID", "42"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {name, "16"}};
    expect_rank(Rank::from_env(), 0, 16, 0);
  }
  Environment environment{{"SLURM_JOB_ID", "42"}, {"SLURM_PROCID", "9"}, {"SLURM_NTASKS", "16"}};
  expect_rank(Rank::from_env(), 9, 16, 0);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_PROCID"}) environment.unset(name);
  environment.set("SLURM_PROCID", "0");
  expect_rank(Rank::from_env(), 0, 16, 0);
}

// Contract: 2.launchers
TEST(Rank, IsReadFromOpenMpi) {
  Environment environment{
      {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}};
  expect_rank(Rank::from_env(), 2, 4, 2);
}

// Contract: 2.launchers
TEST(Rank, IsReadFromMpich) {
  Environment environment{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}};
  expect_rank(Rank::from_env(), 3, 4, 1);
}

// Contract: 2.nested-launchers
TEST(Rank, OfNestedLaunchersIsThatOfTheLargerWorld) {
  Environment environment{{"RANK", "0"},          {"WORLD_SIZE", "1"},           {"LOCAL_RANK", "0"},
                          {"SLURM_JOB_ID", "42"}, {"SLURM_STEP_ID", "0"},        {"SLURM_PROCID", "3"},
                          {"SLURM_LOCALID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"}};
  expect_rank(Rank::from_env(), 3, 4, 1);  // lens run -- srun -n 4
  EXPECT_EQ(setup::rank_variables()->rank, "SLURM_PROCID");
  for (const auto& [name, value] : {std::pair{"OMPI_COMM_WORLD_RANK", "1"},
                                    {"OMPI_COMM_WORLD_SIZE", "2"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                    {"RANK", "7"},
                                    {"WORLD_SIZE", "8"},
                                    {"LOCAL_RANK", "5"}})
    environment.set(name, value);
  expect_rank(Rank::from_env(), 7, 8, 5);  // mpirun -n 2 torchrun
}

// Contract: 2.nested-launchers
TEST(Rank, OfNestedLaunchersIsBelievedInOrderWhereTheirWorldsAreOfOneSize) {
  Environment environment{{"OMPI_COMM_WORLD_RANK", "2"},
                          {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                          {"PMI_RANK", "1"},
                          {"PMI_SIZE", "4"},
                          {"MPI_LOCALRANKID", "1"}};
  expect_rank(Rank::from_env(), 2, 4, 0);
  for (const auto& [name, value] : {std::pair{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "3"}})
    environment.set(name, value);
  expect_rank(Rank::from_env(), 3, 4, 3);
}

// Contract: 2.nested-launchers
TEST(Rank, OfALauncherThatSaysNoWorldIsOneOfAWorldThatHoldsIt) {
  Environment environment{{"RANK", "5"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}};
  EXPECT_EQ(Rank::from_env().rank, 5);
}

TEST(Rank, OfTorchrunGoesBeforeThatOfSlurm) {
  Environment environment{{"RANK", "5"},         {"WORLD_SIZE", "8"},   {"LOCAL_RANK", "1"},
                          {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"}};
  expect_rank(Rank::from_env(), 5, 8, 1);
}

TEST(Rank, OfMpirunInsideABatchScriptIsNotTheScripts) {
  Environment environment{{"SLURM_PROCID", "0"},         {"SLURM_NTASKS", "4"},
                          {"SLURM_LOCALID", "0"},        {"OMPI_COMM_WORLD_RANK", "3"},
                          {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  expect_rank(Rank::from_env(), 3, 4, 1);
}

TEST(Rank, LocalRankIsTakenFromAnotherLauncherWhereItsOwnDoesNotSay) {
  Environment environment{{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"SLURM_LOCALID", "3"}};
  expect_rank(Rank::from_env(), 5, 8, 3);
}

// Contract: 2.first-rank-per-node
TEST(LocalRank, IsAskedForInOrder) {
  std::vector<std::string> warnings;
  Environment environment{{"MPI_LOCALRANKID", "4"}};
  EXPECT_EQ(setup::local_rank(warnings), 4);
  environment.set("OMPI_COMM_WORLD_LOCAL_RANK", "3");
  EXPECT_EQ(setup::local_rank(warnings), 3);
  environment.set("SLURM_LOCALID", "2");
  EXPECT_EQ(setup::local_rank(warnings), 2);
  environment.set("LOCAL_RANK", "1");
  EXPECT_EQ(setup::local_rank(warnings), 1);
  EXPECT_THAT(warnings, IsEmpty());
}

// Contract: 2.first-rank-per-node
TEST(LocalRank, OfMpirunInsideABatchScriptIsNotTheScripts) {
  std::vector<std::string> warnings;
  Environment environment{{"SLURM_PROCID", "0"},
                          {"SLURM_LOCALID", "0"},
                          {"OMPI_COMM_WORLD_RANK", "3"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  EXPECT_EQ(setup::local_rank(warnings), 1);
}

// Contract: 2.launchers
TEST(Rank, BeyondAllWorldsWarnsAndIsPassedOver) {
  Environment environment{{"RANK", "2147483647"}, {"WORLD_SIZE", "4"}};
  const Rank found = Rank::from_env();
  EXPECT_EQ(found.rank, 0);
  EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("RANK: \"2147483647\"")));
}

// Contract: 2.launchers
TEST(Rank, AMalformedLauncherVariableWarnsAndTheNextLauncherIsAsked) {
  Environment environment{{"RANK", "abc"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"LOCAL_RANK", "-3"}};
  const Rank found = Rank::from_env();
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.world_size, 2);
  EXPECT_EQ(found.local_rank, 0);
  EXPECT_THAT(found.warnings, ElementsAre(AllOf(HasSubstr("RANK"), HasSubstr("abc")), HasSubstr("LOCAL_RANK")));
}

TEST(Rank, OutsideItsWorldWarnsAndWidensIt) {
  Environment environment{{"RANK", "3"}, {"WORLD_SIZE", "many"}};
  const Rank found = Rank::from_env();
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.world_size, 4);
  EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("WORLD_SIZE"), HasSubstr("rank 3 of a world of 1")));
}

TEST(Rank, CanBeGivenByHand) {
  const Rank rank{.rank = 3, .world_size = 4};
  EXPECT_EQ(rank.local_rank, -1);
}

TEST(OneNode, IsWhatTheLauncherSays) {
  Environment environment{{"MASTER_ADDR", "10.0.0.1"}};
  EXPECT_TRUE(setup::is_on_one_node({.rank = 0, .world_size = 1}));
  EXPECT_FALSE(setup::is_on_one_node({.rank = 0, .world_size = 8}));
  environment.set("LOCAL_WORLD_SIZE", "8");
  EXPECT_TRUE(setup::is_on_one_node({.rank = 0, .world_size = 8}));
  EXPECT_FALSE(setup::is_on_one_node({.rank = 0, .world_size = 16}));
}

TEST(OneNode, IsAlsoALoopbackRendezvous) {
  for (const char* address : {"localhost", "127.0.0.1", "::1"}) {
    Environment environment{{"MASTER_ADDR", address}};
    EXPECT_TRUE(setup::is_on_one_node({.rank = 0, .world_size = 8})) << address;
  }
}

}  // namespace
}  // namespace lens
