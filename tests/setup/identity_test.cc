// SPDX-License-Identifier: Apache-2.0
#include "src/setup/identity.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "src/base/text.h"
#include "tests/support/environment.h"

namespace lens::setup {
namespace {

using test::Environment;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

constexpr int many = 8;

std::string run_id(int rank = 0, std::vector<std::string>* warnings = nullptr, const Config& config = {},
                   int world_size = many) {
  std::vector<std::string> found;
  const std::string id = derive_run_id(config, {.rank = rank, .world_size = world_size, .local_rank = 0}, found);
  if (warnings != nullptr) *warnings = found;
  return id;
}

/// As a child process: tells the run id, and is over.
[[noreturn]] void tell(int end, const std::string& id) {
  _exit(write(end, id.data(), id.size()) == static_cast<ssize_t>(id.size()) ? 0 : 1);
}

/// What was told by a child, or by one of its own; nothing where nobody could.
std::string told(const int (&ends)[2]) {
  close(ends[1]);
  char id[64];
  const ssize_t size = read(ends[0], id, sizeof(id));
  close(ends[0]);
  return size > 0 ? std::string(id, static_cast<std::size_t>(size)) : "";
}

/// The run id that a child process derives; its parent is this test.
std::string run_id_of_a_child(int rank, int world_size = many) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) tell(ends[1], run_id(rank, nullptr, {}, world_size));
  const std::string id = told(ends);
  waitpid(child, nullptr, 0);
  return id;
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

// Contract: 3.run-id-restart
TEST(RunId, OfSlurmTellsTorchrunsRestartsFromItsOwn) {
  Environment environment{{"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}, {"TORCHELASTIC_RESTART_COUNT", "0"}};
  EXPECT_EQ(run_id(), "9.0");
  environment.set("TORCHELASTIC_RESTART_COUNT", "1");
  EXPECT_EQ(run_id(), "9.0-elastic1");
  environment.set("TORCHELASTIC_RUN_ID", "elastic");
  EXPECT_EQ(run_id(), "9.0-elastic1");
  environment.set("SLURM_RESTART_COUNT", "2");
  EXPECT_EQ(run_id(), "9.0-restart2-elastic1");
}

// Contract: 3.run-id-torchrun, 3.run-id-restart
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

// Contract: 3.run-id-restart
TEST(RunId, WithoutANameHasTorchrunsRestartOnOneNodeAndOnSeveral) {
  for (const char* on_this_node : {"8", "4"}) {
    Environment environment{{"TORCHELASTIC_RUN_ID", "none"},
                            {"TORCHELASTIC_RESTART_COUNT", "0"},
                            {"LOCAL_WORLD_SIZE", on_this_node},
                            {"MASTER_ADDR", "host"}};
    const std::string first = run_id();
    EXPECT_THAT(first, MatchesRegex("[0-9a-f]{16}"));
    for (const char* restart : {"1", "2"}) {
      environment.set("TORCHELASTIC_RESTART_COUNT", restart);
      EXPECT_EQ(run_id(), first + "-restart" + restart) << on_this_node;
    }
  }
}

// Contract: 3.run-id-restart
TEST(RunId, OverSeveralNodesWarnsThatTheyMayCountTorchrunsRestartsOtherwise) {
  for (const char* launcher : {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"}) {
    Environment environment{{launcher, "9"}, {"TORCHELASTIC_RESTART_COUNT", "1"}, {"LOCAL_WORLD_SIZE", "4"}};
    std::vector<std::string> warnings;
    run_id(0, &warnings);
    EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("count of restarts"), HasSubstr("set NEMO_LENS_RUN_ID"))));
    environment.set("LOCAL_WORLD_SIZE", "8");
    run_id(0, &warnings);
    EXPECT_THAT(warnings, IsEmpty()) << "one node counts for all";
    environment.set("LOCAL_WORLD_SIZE", "4");
    environment.set("TORCHELASTIC_RESTART_COUNT", "0");
    run_id(0, &warnings);
    EXPECT_THAT(warnings, IsEmpty());
  }
}

// Contract: 3.run-id-restart
TEST(RunId, ThatIsConfiguredOrMpirunsHasNoRestartOfTorchrun) {
  Environment environment{{"TORCHELASTIC_RESTART_COUNT", "1"}, {"PMIX_NAMESPACE", "prterun-node1-17@1"}};
  std::vector<std::string> warnings;
  EXPECT_THAT(run_id(0, &warnings), MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(warnings, IsEmpty());
  Config config;
  config.run_id = "mine";
  EXPECT_EQ(run_id(0, &warnings, config), "mine");
  EXPECT_THAT(warnings, IsEmpty());
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

// Contract: 3.run-id-one-node
TEST(RunId, OfAProcessThatNoLauncherStartedIsItsOwn) {
  Environment environment;
  const std::string own = run_id(0, nullptr, {}, 1), first = run_id_of_a_child(0, 1), second = run_id_of_a_child(0, 1);
  EXPECT_EQ(run_id(0, nullptr, {}, 1), own) << "as when telemetry is set up again";
  EXPECT_NE(first, own);
  EXPECT_NE(second, first) << "which one shell started after the other";
}

/// A container, which keeps the number of its process namespace from the next one while it is there.
class Container {
 public:
  Container() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    runtime_ = fork();
    if (runtime_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (unshare(CLONE_NEWPID) != 0) _exit(0);
      if (fork() == 0) tell(ends[1], run_id(0, nullptr, {}, 1));
      close(ends[1]);
      for (;;) pause();
    }
    run_id_ = told(ends);
  }
  ~Container() {
    kill(runtime_, SIGKILL);
    waitpid(runtime_, nullptr, 0);
  }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  /// Of its first process; empty where no container may be made.
  const std::string& run_id_of_first() const noexcept { return run_id_; }

 private:
  pid_t runtime_;
  std::string run_id_;
};

// Contract: 3.run-id-one-node
TEST(RunId, OfAContainersFirstProcessIsItsOwn) {
  Environment environment;
  const Container one, other;
  if (one.run_id_of_first().empty()) GTEST_SKIP() << "a container needs the right to make process namespaces";
  EXPECT_NE(one.run_id_of_first(), other.run_id_of_first());
}

// Contract: 3.run-id-one-node
TEST(RunId, OfAWorldOfOneIsItsOwnUnlessALauncherNamesItsJob) {
  Environment environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_WORLD_SIZE", "1"}};
  EXPECT_NE(run_id_of_a_child(0, 1), run_id_of_a_child(0, 1)) << "by hand, twice in one shell";
  environment.set("PMIX_NAMESPACE", "prterun-node1-17@1");
  EXPECT_EQ(run_id_of_a_child(0, 1), run_id_of_a_child(0, 1));
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

// Contract: 3.run-id-mpi
TEST(RunId, OfMpirunIsItsNameOfTheJobOnOneNodeAndOnSeveral) {
  for (const char* on_this_node : {"4", "8"}) {
    Environment environment{{"OMPI_COMM_WORLD_LOCAL_SIZE", on_this_node}, {"PMIX_NAMESPACE", "prterun-node1-17@1"}};
    std::vector<std::string> warnings;
    const std::string id = run_id(0, &warnings);
    EXPECT_THAT(id, MatchesRegex("[0-9a-f]{16}"));
    EXPECT_EQ(run_id_of_a_child(7), id) << "whatever its parent is";
    EXPECT_THAT(warnings, IsEmpty());
    environment.set("PMIX_NAMESPACE", "prterun-node1-18@1");
    EXPECT_NE(run_id(), id);
  }
}

// Contract: 3.run-id-mpi
TEST(RunId, OfMpirunTellsApartJobsThatBearOneName) {
  Environment environment{{"OMPI_MCA_ess_base_jobid", "350355457"},
                          {"OMPI_MCA_orte_precondition_transports", "9dbaa121aa8d8ff9-68b67f83bcbb3993"}};
  const std::string id = run_id();
  environment.set("OMPI_MCA_orte_precondition_transports", "1af8633276e1a9fa-0e4752619547e9e8");
  EXPECT_NE(run_id(), id);
}

// Contract: 3.run-id-mpi
TEST(RunId, UnderSlurmIsThatOfMpirunInPlaceOfTheStepThatOnlySomeRanksAreIn) {
  Environment environment{{"SLURM_JOB_ID", "42"}, {"OMPI_MCA_ess_base_jobid", "350355457"}};
  const std::string on_the_first_node = run_id();
  EXPECT_THAT(on_the_first_node, MatchesRegex("42\\.[0-9a-f]{16}"));
  environment.set("SLURM_STEP_ID", "0");
  EXPECT_EQ(run_id(), on_the_first_node);
  environment.unset("OMPI_MCA_ess_base_jobid");
  environment.set("PMIX_NAMESPACE", "slurm.pmix.42.0");  // srun's
  EXPECT_EQ(run_id(), "42.0");
}

// Contract: 3.run-id-one-node
TEST(RunId, OnOneNodeWithoutALauncherWarnsThatRanksMayHaveSeveralParents) {
  Environment environment{{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "localhost"}};
  std::vector<std::string> warnings;
  EXPECT_THAT(run_id(1, &warnings), MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("the process that started"), HasSubstr("set NEMO_LENS_RUN_ID"))));
}

/// Of ranks that a script started, which has ended.
std::set<std::string> run_ids_of_orphans(int ranks) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t script = fork();
  if (script == 0) {
    setpgid(0, 0);
    const pid_t parent = getpid();
    for (int rank = 0; rank < ranks; ++rank) {
      if (fork() != 0) continue;
      while (getppid() == parent) sched_yield();
      std::vector<std::string> warnings;
      std::string id = run_id(rank, &warnings);
      for (const std::string& warning : warnings) id += ' ' + warning;
      if (getppid() != 1) id = "adopted by another";
      id += '\n';
      _exit(write(ends[1], id.data(), id.size()) == static_cast<ssize_t>(id.size()) ? 0 : 1);
    }
    _exit(0);
  }
  close(ends[1]);
  waitpid(script, nullptr, 0);
  std::string text;
  char part[256];
  for (ssize_t size; (size = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(size));
  close(ends[0]);
  std::set<std::string> ids;
  for (std::string_view line : base::split(text, '\n'))
    if (!line.empty()) ids.emplace(line);
  return ids;
}

// Contract: 3.run-id-one-node
TEST(RunId, OfRanksWhoseScriptHasEndedIsOfTheirProcessGroup) {
  Environment environment{{"WORLD_SIZE", "8"}, {"MASTER_ADDR", "localhost"}};
  const std::set<std::string> first = run_ids_of_orphans(3), second = run_ids_of_orphans(3);
  if (first.contains("adopted by another")) GTEST_SKIP() << "the first process does not adopt here";
  ASSERT_THAT(first, ElementsAre(AllOf(HasSubstr("process group"), HasSubstr("set NEMO_LENS_RUN_ID"))));
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_NE(first, second);
}

TEST(RunId, WithoutLauncherAndRendezvousWarnsThatNodesDiffer) {
  Environment environment;
  std::vector<std::string> warnings;
  EXPECT_THAT(run_id(0, &warnings), MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("set NEMO_LENS_RUN_ID")));
}

}  // namespace
}  // namespace lens::setup
