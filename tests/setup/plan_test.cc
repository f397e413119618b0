// SPDX-License-Identifier: Apache-2.0
#include "src/setup/plan.h"

#include <gmock/gmock.h>

#include <limits>

#include "lens/strategy.h"
#include "tests/support/environment.h"
#include "tests/support/throws.h"

namespace lens::setup {
namespace {

using test::Environment;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Config enabled() {
  Config config;
  config.enabled = true;
  config.run_id = "run7";
  config.exporter = "file";
  return config;
}

std::string fault(const Config& config, const Rank& rank = {}) {
  return test::invalid_argument_of([&] { make_plan(config, rank); });
}

// Contract: 2.file
TEST(Plan, ADirectoryThatFindsNoRoomInTheFileOfRingsIsAnError) {
  Environment environment;
  Config config = enabled();
  config.file_dir = "/" + std::string(1022, 'd');
  EXPECT_NO_THROW(make_plan(config, {}));
  config.file_dir += 'd';
  EXPECT_THAT(fault(config), HasSubstr("trace directory has 1024 bytes; at most 1023 are allowed"));
  config.file_dir = std::string(1022, 'd');  // below the current directory
  EXPECT_THAT(fault(config), HasSubstr("at most 1023 are allowed"));
}

TEST(Plan, DisabledDecidesNothing) {
  Environment environment;
  const Plan plan = make_plan({}, {});
  EXPECT_FALSE(plan.exports);
  EXPECT_THAT(plan.why, HasSubstr("not enabled"));
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_THAT(plan.resource, IsEmpty());
  EXPECT_EQ(plan.run_id, "");
}

TEST(Plan, SdkDisabledGoesBeforeEnabled) {
  Environment environment;
  Config config = enabled();
  config.standard.sdk_disabled = true;
  EXPECT_FALSE(make_plan(config, {}).exports);
  EXPECT_THAT(make_plan(config, {}).why, HasSubstr("OTEL_SDK_DISABLED"));
}

// Contract: 2.strategy-names
TEST(Plan, DisabledChecksNoNames) {
  Environment environment;
  Config config;
  config.export_strategy = config.exporter = config.file_format = config.span_groups = "nonsense";
  EXPECT_NO_THROW(make_plan(config, {.rank = 9, .world_size = 1}));
  config.enabled = config.standard.sdk_disabled = true;
  EXPECT_NO_THROW(make_plan(config, {}));
}

// Contract: 2.exporter, 2.strategy-names
TEST(Plan, UnknownNamesAreErrorsThatListTheValidOnes) {
  Environment environment;
  Config config = enabled();
  config.span_groups = "stpe";
  EXPECT_THAT(fault(config), AllOf(HasSubstr("stpe"), HasSubstr("all, checkpoint, default, evaluate")));
  config = enabled();
  config.export_strategy = "some";
  EXPECT_THAT(fault(config), AllOf(HasSubstr("some"), HasSubstr("all_ranks, first_rank_per_node")));
  config = enabled();
  config.exporter = "pigeon";
  EXPECT_THAT(fault(config), AllOf(HasSubstr("pigeon"), HasSubstr("console, file, none, otlp")));
  config = enabled();
  config.file_format = "xml";
  EXPECT_THAT(fault(config), AllOf(HasSubstr("xml"), HasSubstr("json, proto")));
}

// Contract: 3.order
TEST(Plan, ErrorsAreTheSameOnRanksThatWouldNotExport) {
  Environment environment;
  Config config = enabled();
  config.span_groups = "stpe";
  EXPECT_EQ(fault(config, {.rank = 0, .world_size = 4}), fault(config, {.rank = 3, .world_size = 4}));
}

// Contract: 2.spool
TEST(Plan, TheSpoolLiesInTheUsersStateDirectoryUnlessItIsNamed) {
  Environment environment{{"HOME", "/users/ada"}};
  Config config = enabled();
  EXPECT_EQ(make_plan(config, {.rank = 0, .world_size = 1}).spool_dir, "/users/ada/.local/state/lens/spool");
  environment.set("XDG_STATE_HOME", "/state");
  EXPECT_EQ(make_plan(config, {.rank = 0, .world_size = 1}).spool_dir, "/state/lens/spool");
  config.spool_dir = "/scratch";
  EXPECT_EQ(make_plan(config, {.rank = 0, .world_size = 1}).spool_dir, "/scratch");
}

TEST(Plan, WithoutAHomeThereIsNoSpoolDirectory) {
  Environment environment;
  EXPECT_EQ(make_plan(enabled(), {.rank = 0, .world_size = 1}).spool_dir, "");
}

// Contract: 2.sample-rate
TEST(Plan, NumbersThatAProgramHasSetAreCheckedToo) {
  Environment environment;
  for (double rate : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    Config config = enabled();
    config.export_sample_rate = rate;
    EXPECT_THAT(fault(config), HasSubstr("sample rate"));
  }
  Config config = enabled();
  config.sample_every_n_steps = 0;
  EXPECT_THAT(fault(config), HasSubstr("sample_every_n_steps"));
}

// Contract: 3.run-id-configured
TEST(Plan, ARunIdThatTheFileOfRingsHasNoRoomForIsAnError) {
  Environment environment;
  Config config = enabled();
  config.run_id = std::string(127, 'r');
  EXPECT_TRUE(make_plan(config, {}).exports);
  config.run_id += 'r';
  EXPECT_THAT(fault(config), HasSubstr("128 bytes"));
}

TEST(Plan, ARankOutsideItsWorldIsAnError) {
  Environment environment;
  EXPECT_THAT(fault(enabled(), {.rank = 4, .world_size = 4}), HasSubstr("rank 4 in a world of 4"));
  EXPECT_THAT(fault(enabled(), {.rank = -1, .world_size = 4}), HasSubstr("rank -1"));
}

// Contract: 3.instance
TEST(Plan, OfTheExportingRankHasGroupsIdentityAndResource) {
  Environment environment;
  Config config = enabled();
  config.span_groups = "per_step";
  const Plan plan = make_plan(config, {.rank = 3, .world_size = 4}, {{"dl.batch_size", 16}});
  EXPECT_TRUE(plan.exports);
  EXPECT_THAT(plan.why, HasSubstr("single_rank chooses rank 3 of 4"));
  EXPECT_EQ(plan.groups, SpanGroup::resolve("per_step"));
  EXPECT_EQ(plan.run_id, "run7");
  EXPECT_EQ(plan.instance_id, "run7-rank3");
  EXPECT_EQ(plan.exporter, Exporter::file);
  EXPECT_THAT(plan.resource, Contains(Pair("service.instance.id", AttributeValue{std::string{"run7-rank3"}})));
  EXPECT_THAT(plan.resource, Contains(Pair("dl.batch_size", AttributeValue{std::int64_t{16}})));
  EXPECT_THAT(plan.warnings, IsEmpty());
}

// Contract: 1.gate, 3.disabled
TEST(Plan, OfAnotherRankHasNoGroupsAndNoResource) {
  Environment environment;
  const Plan plan = make_plan(enabled(), {.rank = 0, .world_size = 4});
  EXPECT_FALSE(plan.exports);
  EXPECT_THAT(plan.why, HasSubstr("does not choose rank 0"));
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_THAT(plan.resource, IsEmpty());
  EXPECT_EQ(plan.run_id, "run7");
}

TEST(Plan, WithoutTracesEnablesNoGroup) {
  Environment environment;
  Config config = enabled();
  config.traces_enabled = false;
  const Plan plan = make_plan(config, {});
  EXPECT_TRUE(plan.exports);
  EXPECT_TRUE(plan.groups.empty());
}

TEST(Plan, GroupsStrategyAndExporterAreIndependent) {
  Environment environment;
  for (const char* groups : {"default", "per_step", "all", "step,optimizer"}) {
    for (const char* strategy : {"single_rank", "all_ranks", "sampled", "first_rank_per_node"}) {
      for (const auto& [exporter, expected] :
           std::initializer_list<std::pair<const char*, Exporter>>{{"console", Exporter::console},
                                                                   {"file", Exporter::file},
                                                                   {"none", Exporter::none},
                                                                   {"otlp", Exporter::otlp}}) {
        Config config = enabled();
        config.span_groups = groups;
        config.export_strategy = strategy;
        config.exporter = exporter;
        const Plan plan = make_plan(config, {});
        EXPECT_TRUE(plan.exports) << strategy;
        EXPECT_EQ(plan.groups, SpanGroup::resolve(groups));
        EXPECT_EQ(plan.exporter, expected);
      }
    }
  }
}

// Contract: 2.nobody
TEST(Plan, WarnsWhenTheExportRankIsBeyondTheWorld) {
  Environment environment;
  Config config = enabled();
  config.export_rank = 4;
  const Plan plan = make_plan(config, {.rank = 3, .world_size = 4});
  EXPECT_FALSE(plan.exports);
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("nothing will be exported")));
}

// Contract: 2.nobody
TEST(Plan, WarnsWhenSamplingChoosesNobody) {
  Environment environment;
  Config config = enabled();
  config.export_strategy = "sampled";
  config.export_sample_rate = 0.01;
  EXPECT_THAT(make_plan(config, {.rank = 0, .world_size = 8}).warnings,
              ElementsAre(HasSubstr("nothing will be exported")));
  config.export_sample_rate = 0.1;
  EXPECT_THAT(make_plan(config, {.rank = 0, .world_size = 8}).warnings, IsEmpty());
}

TEST(Plan, WarnsOfFilesThatHoldHardlyMoreThanARequest) {
  Environment environment;
  Config config = enabled();
  config.export_strategy = "all_ranks";
  config.exporter = "file";
  config.file_max_size_bytes = (1 << 20) - 1;
  EXPECT_THAT(make_plan(config, {}).warnings, ElementsAre(HasSubstr("NEMO_LENS_FILE_MAX_SIZE is 1048575")));
  for (const std::uint64_t enough : {0, 1 << 20}) {
    config.file_max_size_bytes = enough;
    EXPECT_THAT(make_plan(config, {}).warnings, IsEmpty());
  }
}

// Contract: 2.batches
TEST(Plan, NoBatchIsLargerThanTheQueue) {
  Environment environment;
  Config config = enabled();
  EXPECT_EQ(make_plan(config, {}).span_batch.max_export_batch_size, 0u) << "what a request holds";
  config.standard.span_batch.max_queue_size = 100;
  config.standard.log_batch.max_queue_size = 10;
  EXPECT_EQ(make_plan(config, {}).span_batch.max_export_batch_size, 100u);
  EXPECT_EQ(make_plan(config, {}).log_batch.max_export_batch_size, 10u);
  EXPECT_THAT(make_plan(config, {}).warnings, IsEmpty());
  config.standard.span_batch.max_export_batch_size = 100;
  config.standard.log_batch.max_export_batch_size = 11;
  const Plan plan = make_plan(config, {});
  EXPECT_EQ(plan.span_batch.max_export_batch_size, 100u);
  EXPECT_EQ(plan.log_batch.max_export_batch_size, 10u);
  EXPECT_THAT(plan.warnings, ElementsAre("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE is 11, more than OTEL_BLRP_MAX_QUEUE_SIZE: "
                                         "batches hold 10"));
}

// Contract: 2.custom-strategy
TEST(Plan, TakesARegisteredStrategyOrACallableOfItsOwn) {
  Environment environment;
  Config config = enabled();
  register_export_strategy("odd", [](const Config&, const Rank& rank) { return rank.rank % 2 == 1; });
  config.export_strategy = "odd";
  EXPECT_TRUE(make_plan(config, {.rank = 1, .world_size = 4}).exports);
  EXPECT_FALSE(make_plan(config, {.rank = 2, .world_size = 4}).exports);
  config.custom_strategy = [](const Config& c, const Rank& rank) { return c.enabled && rank.rank == 2; };
  EXPECT_FALSE(make_plan(config, {.rank = 1, .world_size = 4}).exports);
  EXPECT_TRUE(make_plan(config, {.rank = 2, .world_size = 4}).exports);
  config.export_strategy = "nonsense";
  EXPECT_TRUE(make_plan(config, {.rank = 2, .world_size = 4}).exports);
  unregister_export_strategy("odd");
}

TEST(Plan, WarnsWhenARegisteredStrategyChoosesNobody) {
  Environment environment;
  Config config = enabled();
  register_export_strategy("nobody", [](const Config&, const Rank&) { return false; });
  config.export_strategy = "nobody";
  EXPECT_THAT(make_plan(config, {}).warnings, ElementsAre(HasSubstr("nothing will be exported: strategy nobody")));
  unregister_export_strategy("nobody");
}

// Contract: 2.rank-sampler
TEST(Plan, TheRankAwareSamplerLeavesARankWithoutSpansThatStillExports) {
  Environment environment;
  Config config = enabled();
  config.export_strategy = "all_ranks";
  config.sampler_enabled = true;
  config.export_sample_rate = 0.1;
  for (int rank = 0; rank < 64; ++rank) {
    const Plan plan = make_plan(config, {.rank = rank, .world_size = 64});
    const bool is_kept = rank == 3 || rank == 5 || rank == 6 || rank == 31 || rank == 55;
    EXPECT_TRUE(plan.exports);
    EXPECT_EQ(plan.records_spans, is_kept) << rank;
    EXPECT_EQ(plan.groups.empty(), !is_kept) << rank;
    EXPECT_THAT(plan.warnings, IsEmpty());
  }
}

// Contract: 2.nobody
TEST(Plan, WarnsWhenTheRankAwareSamplerKeepsNoneOfTheRanksThatExport) {
  Environment environment;
  Config config = enabled();
  config.span_groups = "per_step";
  config.sampler_enabled = true;
  config.export_sample_rate = 0.1;
  EXPECT_THAT(make_plan(config, {.rank = 7, .world_size = 8}).warnings,
              ElementsAre(AllOf(HasSubstr("no span will be exported"), HasSubstr("single_rank"))));
  config.export_rank = 3;
  EXPECT_THAT(make_plan(config, {.rank = 3, .world_size = 8}).warnings, IsEmpty());
  EXPECT_TRUE(make_plan(config, {.rank = 3, .world_size = 8}).records_spans);
}

// Contract: 2.nobody
TEST(Plan, WarnsWhenTheRankAwareSamplerKeepsNoFirstRankOfANode) {
  Environment environment{{"LOCAL_WORLD_SIZE", "4"}};
  Config config = enabled();
  config.export_strategy = "first_rank_per_node";
  config.sampler_enabled = true;
  config.export_sample_rate = 0.1;  // of ranks below 8: 3, 5 and 6
  for (const int rank : {0, 4, 7})
    EXPECT_THAT(make_plan(config, {.rank = rank, .world_size = 8, .local_rank = rank % 4}).warnings,
                ElementsAre(HasSubstr("no span will be exported")));
  environment.set("LOCAL_WORLD_SIZE", "3");  // 3 and 6 begin nodes
  EXPECT_THAT(make_plan(config, {.rank = 0, .world_size = 8, .local_rank = 0}).warnings, IsEmpty());
}

// Contract: 2.nobody
TEST(Plan, NeverWarnsOfNobodyWhereThisRankHasSpans) {
  Environment environment;
  Config config = enabled();
  register_export_strategy("fourth", [](const Config&, const Rank& rank) { return rank.local_rank == 3; });
  config.export_strategy = "fourth";
  EXPECT_TRUE(make_plan(config, {.rank = 7, .world_size = 8, .local_rank = 3}).exports);
  for (const int rank : {0, 3, 7})
    EXPECT_THAT(make_plan(config, {.rank = rank, .world_size = 8, .local_rank = rank % 4}).warnings, IsEmpty());
  unregister_export_strategy("fourth");
}

// Contract: 2.nobody
TEST(Plan, AStrategyThatThrowsForAnotherRankStopsNothingHere) {
  Environment environment;
  Config config = enabled();
  register_export_strategy("picky", [](const Config&, const Rank& rank) -> bool {
    if (rank.rank != 1) throw std::runtime_error("only of rank 1");
    return false;
  });
  config.export_strategy = "picky";
  EXPECT_THAT(make_plan(config, {.rank = 1, .world_size = 4}).warnings, IsEmpty());
  EXPECT_THROW(make_plan(config, {.rank = 0, .world_size = 4}), std::runtime_error);
  unregister_export_strategy("picky");
}

// Contract: 2.nobody
TEST(Plan, WarnsOfACallableThatChoosesNobodyWhereItCanBeKnown) {
  Environment environment;
  Config config = enabled();
  config.custom_strategy = [](const Config&, const Rank&) { return false; };
  EXPECT_THAT(make_plan(config, {}).warnings, ElementsAre(HasSubstr("nothing will be exported: strategy custom")));
  EXPECT_THAT(make_plan(config, {.rank = 0, .world_size = 2}).warnings, IsEmpty());
}

TEST(Plan, ANegativeShutdownTimeoutIsAnError) {
  Environment environment;
  Config config = enabled();
  config.shutdown_timeout = std::chrono::milliseconds(-1);
  EXPECT_THROW(make_plan(config, {}), std::invalid_argument);
}

TEST(Plan, AnUnknownTracesSamplerAndARatioOutOfRangeAreErrors) {
  Environment environment;
  Config config = enabled();
  config.standard.traces_sampler = "sometimes";
  EXPECT_THAT(fault(config), AllOf(HasSubstr("sometimes"), HasSubstr("always_off, always_on, parentbased_always_off")));
  config = enabled();
  config.standard.traces_sampler_ratio = 1.5;
  EXPECT_THAT(fault(config), HasSubstr("ratio"));
}

TEST(Plan, CarriesTheWarningsOfConfigAndRank) {
  Environment environment{{"NEMO_LENS_SPAN_GROUP", "all"}, {"RANK", "abc"}};
  const Plan disabled = make_plan(Config::from_env(), Rank::from_env());
  EXPECT_THAT(disabled.warnings, ElementsAre(HasSubstr("NEMO_LENS_SPAN_GROUPS?"), HasSubstr("RANK")));
  environment.set("NEMO_LENS_ENABLED", "1");
  environment.set("NEMO_LENS_EXPORTER", "console");
  EXPECT_THAT(make_plan(Config::from_env(), Rank::from_env()).warnings, testing::SizeIs(2));
}

// Contract: 2.first-rank-per-node
TEST(Plan, FirstRankPerNodeAsksTheLauncherWhenTheProgramDoesNotSay) {
  Environment environment{{"SLURM_LOCALID", "3"}};
  Config config = enabled();
  config.export_strategy = "first_rank_per_node";
  EXPECT_FALSE(make_plan(config, {.rank = 3, .world_size = 8}).exports);
  EXPECT_TRUE(make_plan(config, {.rank = 3, .world_size = 8, .local_rank = 0}).exports);
  environment.unset("SLURM_LOCALID");
  EXPECT_TRUE(make_plan(config, {.rank = 3, .world_size = 8}).exports);
}

// Contract: 2.file
TEST(Plan, TheFileExporterWritesWhereItIsToldOrUnderTheRunId) {
  Environment environment;
  Config config = enabled();
  EXPECT_EQ(make_plan(config, {}).file_dir, "lens/run7");
  config.run_id = "../team/run";
  EXPECT_EQ(make_plan(config, {}).file_dir, "lens/.._team_run");
  config.run_id = "..";
  EXPECT_EQ(make_plan(config, {}).file_dir, "lens/__");
  config.file_dir = "/data/traces";
  EXPECT_EQ(make_plan(config, {}).file_dir, "/data/traces");
}

}  // namespace
}  // namespace lens::setup
