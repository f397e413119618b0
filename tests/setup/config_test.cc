// SPDX-License-Identifier: Apache-2.0
// Every prefixed variable and the unprefixed ones; the standard OTLP ones are in otlp_config_test.cc.
#include "lens/config.h"
#include "lens/rank.h"
#include "lens/telemetry.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/environment.h"
#include "tests/support/throws.h"

namespace lens {
namespace {

using test::Environment;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string fault_of_from_env() {
  return test::invalid_argument_of([] { Config::from_env(); });
}

// Contract: 2.defaults
TEST(Config, DefaultsHoldInAnEmptyEnvironment) {
  Environment environment;
  const Config config = Config::from_env();
  EXPECT_FALSE(config.enabled);
  EXPECT_EQ(config.export_strategy, "single_rank");
  EXPECT_EQ(config.export_rank, -1);
  EXPECT_EQ(config.export_sample_rate, 1.0);
  EXPECT_FALSE(config.sampler_enabled);
  EXPECT_TRUE(config.traces_enabled);
  EXPECT_TRUE(config.metrics_enabled);
  EXPECT_FALSE(config.logs_enabled);
  EXPECT_EQ(config.span_groups, "default");
  EXPECT_EQ(config.sample_every_n_steps, 1);
  EXPECT_EQ(config.exporter, "otlp");
  EXPECT_EQ(config.file_dir, "");
  EXPECT_EQ(config.file_format, "proto");
  EXPECT_EQ(config.file_max_size_bytes, 0u);
  EXPECT_EQ(config.spool_size_bytes, 512u << 20);
  EXPECT_EQ(config.shm_dir, "/dev/shm/lens-" + std::to_string(getuid()));
  EXPECT_EQ(config.shutdown_timeout, std::chrono::seconds(5));
  EXPECT_EQ(&config.vocabulary.get(), &SpanGroup::vocabulary());
  EXPECT_THAT(config.warnings, IsEmpty());
}

// Contract: 2.table
TEST(Config, EveryPrefixedVariableReachesItsField) {
  Environment environment{{"NEMO_LENS_ENABLED", "on"},          {"NEMO_LENS_EXPORT_STRATEGY", "sampled"},
                          {"NEMO_LENS_EXPORT_RANK", "3"},       {"NEMO_LENS_EXPORT_SAMPLE_RATE", "0.25"},
                          {"NEMO_LENS_SAMPLER_ENABLED", "yes"}, {"NEMO_LENS_TRACES_ENABLED", "0"},
                          {"NEMO_LENS_METRICS_ENABLED", "no"},  {"NEMO_LENS_LOGS_ENABLED", "TRUE"},
                          {"NEMO_LENS_SPAN_GROUPS", "step"},    {"NEMO_LENS_EXPORTER", "file"},
                          {"NEMO_LENS_FILE_DIR", "/tmp/out"},   {"NEMO_LENS_FILE_FORMAT", "json"},
                          {"NEMO_LENS_SPOOL_DIR", "/tmp/sp"},   {"NEMO_LENS_SPOOL_SIZE", "1GiB"},
                          {"NEMO_LENS_SHM_DIR", "/tmp/shm"},    {"NEMO_LENS_RUN_ID", "run 7"},
                          {"NEMO_LENS_USER_ID", "ada"},         {"NEMO_LENS_SAMPLE_EVERY_N_STEPS", "10"},
                          {"NEMO_LENS_FILE_MAX_SIZE", "64MiB"}};
  const Config config = Config::from_env();
  EXPECT_TRUE(config.enabled);
  EXPECT_EQ(config.export_strategy, "sampled");
  EXPECT_EQ(config.export_rank, 3);
  EXPECT_EQ(config.export_sample_rate, 0.25);
  EXPECT_TRUE(config.sampler_enabled);
  EXPECT_FALSE(config.traces_enabled);
  EXPECT_FALSE(config.metrics_enabled);
  EXPECT_TRUE(config.logs_enabled);
  EXPECT_EQ(config.span_groups, "step");
  EXPECT_EQ(config.exporter, "file");
  EXPECT_EQ(config.file_dir, "/tmp/out");
  EXPECT_EQ(config.file_format, "json");
  EXPECT_EQ(config.file_max_size_bytes, 64u << 20);
  EXPECT_EQ(config.spool_dir, "/tmp/sp");
  EXPECT_EQ(config.spool_size_bytes, 1u << 30);
  EXPECT_EQ(config.shm_dir, "/tmp/shm");
  EXPECT_EQ(config.run_id, "run 7");
  EXPECT_EQ(config.user_id, "ada");
  EXPECT_EQ(config.sample_every_n_steps, 10);
  EXPECT_THAT(config.warnings, IsEmpty());
}

// Contract: 2.prefix
TEST(Config, ThePrefixIsAskedBeforeTheFallbackForEachKey) {
  Environment environment{
      {"MEGATRON_OTEL_SPAN_GROUPS", "all"}, {"NEMO_LENS_SPAN_GROUPS", "default"}, {"NEMO_LENS_ENABLED", "1"}};
  const Config config = Config::from_env({.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS"});
  EXPECT_EQ(config.span_groups, "all");
  EXPECT_TRUE(config.enabled);
}

TEST(Config, WithoutAFallbackOnlyThePrefixIsRead) {
  Environment environment{{"NEMO_LENS_ENABLED", "1"}};
  EXPECT_FALSE(Config::from_env({.prefix = "MEGATRON_OTEL"}).enabled);
}

// Contract: 2.prefix
TEST(Config, EmptyAndBlankCountAsUnset) {
  Environment environment{{"MEGATRON_OTEL_SPAN_GROUPS", ""},
                          {"MEGATRON_OTEL_EXPORTER", " \t"},
                          {"NEMO_LENS_SPAN_GROUPS", "step"},
                          {"OTEL_SERVICE_NAME", " "}};
  const Config config = Config::from_env({.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS"});
  EXPECT_EQ(config.span_groups, "step");
  EXPECT_EQ(config.exporter, "otlp");
  EXPECT_EQ(config.service_name, "");
}

// Contract: 2.prefix
TEST(Config, ValuesAreTrimmed) {
  Environment environment{{"NEMO_LENS_ENABLED", " 1\n"}, {"NEMO_LENS_EXPORTER", " file "}};
  const Config config = Config::from_env();
  EXPECT_TRUE(config.enabled);
  EXPECT_EQ(config.exporter, "file");
}

// Contract: 2.shm
TEST(Config, AnEmptySharedMemoryDirectoryMeansPrivateMemory) {
  Environment environment{{"NEMO_LENS_SHM_DIR", ""}};
  EXPECT_EQ(Config::from_env().shm_dir, "");
}

// Contract: 2.enabled, 2.sample-rate
TEST(Config, AMalformedPrefixedValueIsAnErrorThatNamesTheVariable) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"NEMO_LENS_ENABLED", "maybe"},
                                                                  {"NEMO_LENS_TRACES_ENABLED", "2"},
                                                                  {"NEMO_LENS_EXPORT_RANK", "last"},
                                                                  {"NEMO_LENS_EXPORT_SAMPLE_RATE", "-0.1"},
                                                                  {"NEMO_LENS_EXPORT_SAMPLE_RATE", "1.1"},
                                                                  {"NEMO_LENS_EXPORT_SAMPLE_RATE", "NaN"},
                                                                  {"NEMO_LENS_SAMPLE_EVERY_N_STEPS", "0"},
                                                                  {"NEMO_LENS_FILE_MAX_SIZE", "-1"},
                                                                  {"NEMO_LENS_SPOOL_SIZE", "big"}}) {
    Environment environment{{name, value}};
    EXPECT_THAT(fault_of_from_env(), AllOf(HasSubstr(name), HasSubstr(value)));
  }
}

TEST(Config, TheErrorNamesTheVariableThatWasReadAndNotThePreferredOne) {
  Environment environment{{"NEMO_LENS_ENABLED", "maybe"}};
  const std::string fault =
      test::invalid_argument_of([] { Config::from_env({.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS"}); });
  EXPECT_THAT(fault, HasSubstr("NEMO_LENS_ENABLED"));
}

TEST(Config, UnknownNamesAreLeftToSetUp) {
  Environment environment{{"NEMO_LENS_EXPORT_STRATEGY", "mine"}, {"NEMO_LENS_EXPORTER", "pigeon"}};
  EXPECT_EQ(Config::from_env().export_strategy, "mine");
}

// Contract: 2.aliases
TEST(Config, RankStrategyIsAnAliasOfExportStrategyThatYieldsToIt) {
  Environment environment{{"NEMO_LENS_RANK_STRATEGY", "all_ranks"}};
  EXPECT_EQ(Config::from_env().export_strategy, "all_ranks");
  environment.set("NEMO_LENS_EXPORT_STRATEGY", "sampled");
  EXPECT_EQ(Config::from_env().export_strategy, "sampled");
}

TEST(Config, AnAliasWithThePrefixGoesBeforeTheKeyWithTheFallback) {
  Environment environment{{"MEGATRON_OTEL_RANK_STRATEGY", "all_ranks"}, {"NEMO_LENS_EXPORT_STRATEGY", "sampled"}};
  const Config config = Config::from_env({.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS"});
  EXPECT_EQ(config.export_strategy, "all_ranks");
}

// Contract: 2.aliases
TEST(Config, SamplingStrategyRankAwareIsAnAliasOfSamplerEnabled) {
  Environment environment{{"NEMO_LENS_SAMPLING_STRATEGY", "rank_aware"}};
  EXPECT_TRUE(Config::from_env().sampler_enabled);
  environment.set("NEMO_LENS_SAMPLING_STRATEGY", "random");
  EXPECT_THAT(fault_of_from_env(), AllOf(HasSubstr("NEMO_LENS_SAMPLING_STRATEGY"), HasSubstr("rank_aware")));
}

// Contract: 2.unknown
TEST(Config, AnUnknownPrefixedVariableIsReportedOnceWithTheNearestName) {
  Environment environment{{"MEGATRON_OTEL_SPAN_GROUP", "all"}, {"NEMO_LENS_ENABLE", "1"}, {"NEMO_LENSES", "2"}};
  const Config config = Config::from_env({.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS"});
  EXPECT_THAT(config.warnings,
              ElementsAre(AllOf(HasSubstr("MEGATRON_OTEL_SPAN_GROUP "), HasSubstr("MEGATRON_OTEL_SPAN_GROUPS?")),
                          AllOf(HasSubstr("NEMO_LENS_ENABLE "), HasSubstr("NEMO_LENS_ENABLED?"))));
}

// Contract: 2.unprefixed
TEST(Config, UnprefixedVariablesReachTheirFields) {
  Environment environment{{"OTEL_SERVICE_NAME", "trainer"},
                          {"WANDB_ENTITY", "team"},
                          {"WANDB_PROJECT", "gpt"},
                          {"DEPLOYMENT_ENV", "staging"},
                          {"ENVIRONMENT", "other"}};
  const Config config = Config::from_env();
  EXPECT_EQ(config.service_name, "trainer");
  EXPECT_EQ(config.wandb_entity, "team");
  EXPECT_EQ(config.wandb_project, "gpt");
  EXPECT_EQ(config.deployment_environment, "staging");
}

// Contract: 2.unprefixed
TEST(Config, EnvironmentStandsInForDeploymentEnv) {
  Environment environment{{"ENVIRONMENT", "production"}};
  EXPECT_EQ(Config::from_env().deployment_environment, "production");
}

// Contract: 2.sdk-disabled
TEST(Config, OnlyTrueDisablesTheSdk) {
  Environment environment{{"OTEL_SDK_DISABLED", "TRUE"}};
  EXPECT_TRUE(Config::from_env().standard.sdk_disabled);
  environment.set("OTEL_SDK_DISABLED", "1");
  const Config config = Config::from_env();
  EXPECT_FALSE(config.standard.sdk_disabled);
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("OTEL_SDK_DISABLED")));
}

// Contract: 3.resource-attributes, C19
TEST(Config, ResourceAttributesArePercentDecoded) {
  Environment environment{{"OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb,stage=x=y"}};
  EXPECT_THAT(Config::from_env().standard.resource_attributes,
              ElementsAre(Pair("team", AttributeValue{"a,b"}), Pair("stage", AttributeValue{"x=y"})));
}

// Contract: 3.resource-attributes, C19
TEST(Config, MalformedResourceAttributesWarnAndAreLeftOutWhole) {
  Environment environment{{"OTEL_RESOURCE_ATTRIBUTES", "good=1,bad=%zz"}};
  const Config config = Config::from_env();
  EXPECT_THAT(config.standard.resource_attributes, IsEmpty());
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("OTEL_RESOURCE_ATTRIBUTES")));
}

TEST(Config, WarningsGoToStandardErrorUnlessTheProgramTakesThem) {
  Config config;  // disabled, as it may be because of what the warning is about
  config.warnings = {"a warning"};
  testing::internal::CaptureStderr();
  EXPECT_FALSE(setup_telemetry(config, Rank{}).is_exporting());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lens: a warning\n");
  std::string heard;
  config.on_error = [&heard](std::string_view line) { heard += line; };
  testing::internal::CaptureStderr();
  EXPECT_FALSE(setup_telemetry(config, Rank{}).is_exporting());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(heard, "a warning");
}

// Contract: 2.unknown
TEST(Config, WarningsAreThoseOfOneRankUnlessTheProgramTakesThem) {
  Config config;
  config.warnings = {"a warning"};
  testing::internal::CaptureStderr();
  for (int rank = 0; rank < 3; ++rank) auto telemetry = setup_telemetry(config, {.rank = rank, .world_size = 3});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lens: a warning\n");
  int heard = 0;
  config.on_error = [&heard](std::string_view) { ++heard; };
  for (int rank = 0; rank < 3; ++rank) auto telemetry = setup_telemetry(config, {.rank = rank, .world_size = 3});
  EXPECT_EQ(heard, 3);
}

TEST(Config, SpanGroupsResolveInTheChosenVocabulary) {
  struct RlSpanGroup : SpanGroup {
    static const Vocabulary& vocabulary() {
      static const Group rollout{"rollout"};
      static const Vocabulary rl{"rl", SpanGroup::vocabulary().groups() | rollout, {{"default", {job, rollout}}}};
      return rl;
    }
  };
  Environment environment{{"RL_OTEL_SPAN_GROUPS", "default,step"}};
  const Config config = Config::from_env({.prefix = "RL_OTEL", .vocabulary = RlSpanGroup::vocabulary()});
  EXPECT_EQ(config.resolved_span_groups(), GroupSet::of({"job", "rollout", "step"}));
}

// Contract: 2.unknown
TEST(Config, ANameInTheWrongCaseIsSuggestedInTheRightOne) {
  Environment environment{{"NEMO_LENS_enabled", "1"}};
  EXPECT_THAT(Config::from_env().warnings, ElementsAre(HasSubstr("did you mean NEMO_LENS_ENABLED?")));
}

// Contract: 2.unknown
TEST(Config, AVariableThatOnePrefixKnowsIsNotUnknownToAnother) {
  Environment environment{{"NEMO_LENS_ENABLED", "1"}};
  const Config config = Config::from_env({.prefix = "NEMO", .fallback_prefix = "NEMO_LENS"});
  EXPECT_TRUE(config.enabled);
  EXPECT_THAT(config.warnings, IsEmpty());
}

// Contract: 2.flags-win
TEST(Config, FieldsSetAfterwardsWinOverTheEnvironment) {
  Environment environment{{"NEMO_LENS_SPAN_GROUPS", "all"}};
  Config config = Config::from_env();
  config.span_groups = "job";
  EXPECT_EQ(config.resolved_span_groups(), GroupSet::of({"job"}));
}

}  // namespace
}  // namespace lens
