// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lens::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::string value(const Environment& environment, const std::string& name) {
  auto found = environment.find(name);
  return found == environment.end() ? "(unset)" : found->second;
}

Environment of_rank(const Environment& base, const RunRequest& request = {}, int rank = 0) {
  return rank_environment(base, make_plan(request, base), rank);
}

TEST(RankEnvironment, has_what_torchrun_sets) {
  Environment environment = of_rank({{"PATH", "/bin"}}, {.world_size = 4, .command = {"true"}}, 3);
  EXPECT_EQ(value(environment, "RANK"), "3");
  EXPECT_EQ(value(environment, "LOCAL_RANK"), "3");
  EXPECT_EQ(value(environment, "WORLD_SIZE"), "4");
  EXPECT_EQ(value(environment, "LOCAL_WORLD_SIZE"), "4");
  EXPECT_EQ(value(environment, "MASTER_ADDR"), "127.0.0.1");
  EXPECT_GT(std::stoi(value(environment, "MASTER_PORT")), 0);
  EXPECT_EQ(value(environment, "PATH"), "/bin");
}

TEST(RankEnvironment, turns_telemetry_on_for_every_rank) {
  Environment environment = of_rank({});
  EXPECT_EQ(value(environment, "NEMO_LENS_ENABLED"), "1");
  EXPECT_EQ(value(environment, "NEMO_LENS_EXPORT_STRATEGY"), "all_ranks");
  EXPECT_EQ(value(environment, "NEMO_LENS_EXPORTER"), "file");
  EXPECT_EQ(value(environment, "NEMO_LENS_FILE_DIR"),
            std::filesystem::absolute("lens/" + value(environment, "NEMO_LENS_RUN_ID")).string());
  EXPECT_EQ(value(environment, "NEMO_LENS_SPAN_GROUPS"), "(unset)");
}

TEST(RankEnvironment, leaves_what_the_user_has_set) {
  Environment environment = of_rank({{"NEMO_LENS_ENABLED", "0"},
                                     {"MEGATRON_OTEL_EXPORTER", "otlp"},
                                     {"NEMO_LENS_EXPORT_STRATEGY", "single_rank"},
                                     {"NEMO_LENS_RUN_ID", "mine"},
                                     {"MEGATRON_OTEL_SPAN_GROUPS", "all"},
                                     {"NEMO_LENS_FILE_DIR", "/data/traces"}});
  EXPECT_EQ(value(environment, "NEMO_LENS_ENABLED"), "0");
  EXPECT_EQ(value(environment, "NEMO_LENS_EXPORTER"), "(unset)");
  EXPECT_EQ(value(environment, "MEGATRON_OTEL_EXPORTER"), "otlp");
  EXPECT_EQ(value(environment, "NEMO_LENS_EXPORT_STRATEGY"), "single_rank");
  EXPECT_EQ(value(environment, "NEMO_LENS_RUN_ID"), "mine");
  EXPECT_EQ(value(environment, "MEGATRON_OTEL_SPAN_GROUPS"), "all");
  EXPECT_EQ(value(environment, "NEMO_LENS_FILE_DIR"), "/data/traces");
}

TEST(RankEnvironment, takes_a_blank_variable_for_unset) {
  EXPECT_EQ(value(of_rank({{"NEMO_LENS_ENABLED", " "}}), "NEMO_LENS_ENABLED"), "1");
}

TEST(RankEnvironment, gives_the_command_line_the_last_word_under_either_prefix) {
  RunRequest request{.span_groups = "per_step", .directory = "/out", .command = {"true"}};
  Environment environment = of_rank({{"MEGATRON_OTEL_SPAN_GROUPS", "all"},
                                     {"NEMO_LENS_SPAN_GROUPS", "all"},
                                     {"MEGATRON_OTEL_FILE_DIR", "/elsewhere"}},
                                    request);
  EXPECT_EQ(value(environment, "NEMO_LENS_SPAN_GROUPS"), "per_step");
  EXPECT_EQ(value(environment, "MEGATRON_OTEL_SPAN_GROUPS"), "(unset)");
  EXPECT_EQ(value(environment, "NEMO_LENS_FILE_DIR"), "/out");
  EXPECT_EQ(value(environment, "MEGATRON_OTEL_FILE_DIR"), "(unset)");
}

TEST(MakePlan, names_each_run_differently) {
  RunPlan first = make_plan({}, {}), second = make_plan({}, {});
  EXPECT_NE(first.run_id, second.run_id);
  EXPECT_THAT(first.run_id, testing::MatchesRegex("[0-9]{8}-[0-9]{6}-[0-9a-f]{4}"));
}

TEST(MakePlan, knows_where_the_rings_will_be) {
  EXPECT_THAT(make_plan({}, {}).shm_dir.string(), StartsWith("/dev/shm/lens-"));
  EXPECT_EQ(make_plan({}, {{"NEMO_LENS_SHM_DIR", "/my/shm"}}).shm_dir, "/my/shm");
  EXPECT_EQ(make_plan({}, {{"NEMO_LENS_SHM_DIR", ""}}).shm_dir, "");
}

TEST(UnknownGroups, are_words_of_neither_vocabulary) {
  EXPECT_THAT(unknown_groups("per_step, MicroBatch,,all"), IsEmpty());
  EXPECT_THAT(unknown_groups("default,rollout,steps"), ElementsAre("rollout", "steps"));
}

}  // namespace
}  // namespace lens::launch
