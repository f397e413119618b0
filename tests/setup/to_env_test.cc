// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>

#include "lens/config.h"
#include "src/setup/environment.h"
#include "tests/support/environment.h"

namespace lens {
namespace {

using setup::Family;
using setup::Variable;
using test::Environment;
using testing::Contains;
using testing::MatchesRegex;
using testing::Pair;

const EnvOptions megatron{.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS"};

/// What a worker reads that is given `config`'s variables on top of `inherited`.
Config respawned(const Config& config, const EnvOptions& options = {},
                 std::initializer_list<std::pair<const char*, const char*>> inherited = {}) {
  Environment environment{inherited};
  for (const auto& [name, value] : config.to_env(options)) environment.set(name.c_str(), value.c_str());
  return Config::from_env(options);
}

Config in_a_run() {
  Config config;
  config.run_id = "run";
  return config;
}

/// A valid value that is not the default.
std::string other_value(const Variable& variable) {
  static const std::map<std::string_view, std::string> by_key{{"SPAN_GROUPS", "step,job"},
                                                              {"EXPORT_RANK", "3"},
                                                              {"EXPORTER", "file"},
                                                              {"OTEL_TRACES_EXPORTER", "console"},
                                                              {"OTEL_METRICS_EXPORTER", "none"},
                                                              {"OTEL_LOGS_EXPORTER", "otlp"},
                                                              {"OTEL_TRACES_SAMPLER", "traceidratio"},
                                                              {"PROTOCOL", "http/json"},
                                                              {"COMPRESSION", "gzip"},
                                                              {"INSECURE", "true"},
                                                              {"OTEL_SDK_DISABLED", "true"},
                                                              {"OTEL_PROPAGATORS", "baggage"},
                                                              {"FILE_FORMAT", "json"},
                                                              {"EXPORT_STRATEGY", "all_ranks"},
                                                              {"OTEL_RESOURCE_ATTRIBUTES", "a=b%2Cc,d=%C3%A9%3D"},
                                                              {"HEADERS", "key=a%2Cb"},
                                                              {"ENDPOINT", "http://collector:4318/base"},
                                                              {"REDACTED_KEYS", "prompt,salary"}};
  if (const auto found = by_key.find(variable.key); found != by_key.end()) return found->second;
  if (variable.type == "boolean") return variable.fallback == "0" ? "1" : "0";
  if (variable.type == "0 … 1") return "0.1";
  if (variable.type == "text" || variable.type == "path") return "/some where/" + std::string(variable.key);
  return "77";
}

TEST(ToEnv, SaysTheDefaults) {
  const Config config = respawned(in_a_run());
  EXPECT_EQ(config, in_a_run());
  EXPECT_TRUE(config.warnings.empty());
}

// Contract: 2.to-env
TEST(ToEnv, GivesEveryVariableBack) {
  for (const Variable& variable : setup::variables()) {
    if (variable.family == Family::detected) continue;
    const std::string before = variable.family == Family::prefixed ? "NEMO_LENS_"
                               : variable.family == Family::otlp   ? "OTEL_EXPORTER_OTLP_"
                                                                   : "";
    const std::string name = before + std::string(variable.key);
    Environment environment{{name.c_str(), other_value(variable).c_str()}};
    Config config = Config::from_env();
    EXPECT_TRUE(config.warnings.empty()) << name;
    EXPECT_NE(config, Config{}) << name;
    if (config.run_id.empty()) config.run_id = "run";
    EXPECT_EQ(respawned(config), config) << name;
  }
}

// Contract: 2.to-env
TEST(ToEnv, GivesBackWhatAProgramHasSet) {
  Config config = in_a_run();
  config.enabled = true;
  config.export_strategy = "mine";
  config.export_sample_rate = 1.0 / 3;
  config.shm_dir = "";
  config.redacted_keys = {};
  config.shutdown_timeout = std::chrono::milliseconds{1};
  config.standard.propagators = {};
  config.standard.resource_attributes = {{"team", std::string{"a,b=c %"}}};
  config.standard.otlp_logs.headers = {{"key", "a,b"}, {"other", " c "}};
  config.standard.span_batch.max_queue_size = 9;
  const Config found = respawned(config, megatron);
  EXPECT_EQ(found, config);
  EXPECT_EQ(found.export_sample_rate, 1.0 / 3);
  EXPECT_EQ(found.shm_dir, "");
  EXPECT_TRUE(found.redacted_keys.empty());
  EXPECT_TRUE(found.standard.propagators.empty());
  EXPECT_EQ(found.standard.resource_attributes, config.standard.resource_attributes);
  EXPECT_EQ(found.standard.otlp_logs.headers, config.standard.otlp_logs.headers);
  EXPECT_EQ(found.standard.span_batch.max_queue_size, 9u);
  EXPECT_EQ(found.standard.log_batch.max_queue_size, 0u);
}

// Contract: 2.to-env
TEST(ToEnv, TellsASpecOfNoGroupsFromTheDefault) {
  Config config = in_a_run();
  config.span_groups = "";
  EXPECT_EQ(respawned(config), config);
  EXPECT_EQ(respawned(config).span_groups, "");
}

// Contract: 2.to-env
TEST(ToEnv, KeepsRedactedKeysAsTheyAreWritten) {
  Config config = in_a_run();
  config.redacted_keys = {"Salary", "bonus"};
  EXPECT_EQ(respawned(config), config);
}

TEST(ToEnv, NeverStopsAWorker) {
  Config config = in_a_run();
  config.shutdown_timeout = std::chrono::milliseconds{-1};
  config.redacted_keys = {"none", "a,b"};
  config.user_id = " a b ";
  config.replace_running = true;
  config.standard.resource_attributes = {{"team.size", 3}};
  const Config found = respawned(config);
  EXPECT_EQ(found.shutdown_timeout.count(), 0);
  EXPECT_EQ(found.redacted_keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(found.user_id, "a b");
  EXPECT_FALSE(found.replace_running);
  EXPECT_EQ(found.standard.resource_attributes, (ResourceAttributes{{"team.size", std::string("3")}}));
}

TEST(ToEnv, GivesTheEndpointOfOneSignalAsTheUrlThatItStandsFor) {
  Config config = in_a_run();
  config.standard.otlp_traces.endpoint = "http://traces:4318";
  config.standard.otlp_traces.protocol = OtlpProtocol::http_protobuf;
  const Config found = respawned(config);
  EXPECT_EQ(found.standard.otlp_traces.endpoint, "http://traces:4318/v1/traces");
  EXPECT_TRUE(found.standard.otlp_traces.endpoint_is_full);
  EXPECT_EQ(found.standard.otlp_metrics, OtlpConfig{});
}

// Contract: 2.to-env
TEST(ToEnv, HidesWhatTheWorkerInherits) {
  Config config = in_a_run();
  config.span_groups = "step";
  const Config found = respawned(config, megatron,
                                 {{"MEGATRON_OTEL_SPAN_GROUPS", "all"},
                                  {"NEMO_LENS_RUN_ID", "another"},
                                  {"MEGATRON_OTEL_RANK_STRATEGY", "all_ranks"},
                                  {"NEMO_LENS_SAMPLING_STRATEGY", "rank_aware"},
                                  {"ENVIRONMENT", "production"},
                                  {"OTEL_SERVICE_NAME", "another"},
                                  {"OTEL_BSP_MAX_QUEUE_SIZE", "5"},
                                  {"OTEL_ATTRIBUTE_COUNT_LIMIT", "3"},
                                  {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://another"},
                                  {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://another"},
                                  {"OTEL_EXPORTER_OTLP_HEADERS", "key=value"}});
  EXPECT_EQ(found, config);
  EXPECT_EQ(found.run_id, "run");
  EXPECT_EQ(found.deployment_environment, "");
  EXPECT_EQ(found.standard.otlp_logs.endpoint, "");
}

// Contract: 2.to-env
TEST(ToEnv, NamesTheRunOfThisProcessWhereNoneIsSet) {
  EXPECT_THAT(respawned({}).run_id, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(respawned({}).run_id, respawned({}).run_id);
  Environment environment{{"SLURM_JOB_ID", "42"}, {"SLURM_STEP_ID", "0"}};
  EXPECT_THAT(Config{}.to_env(megatron), Contains(Pair("MEGATRON_OTEL_RUN_ID", "42.0")));
}

// Contract: 2.to-env
TEST(ToEnv, LeavesARunIdThatIsTooLongToBeSetToTheLaunchersVariables) {
  Environment environment{{"TORCHELASTIC_RUN_ID", std::string(200, 'r').c_str()}};
  EXPECT_THAT(Config{}.to_env(), Contains(Pair("NEMO_LENS_RUN_ID", "")));
}

// Contract: 2.to-env
TEST(ToEnv, IsForThePrefixesThatTheConfigurationWasReadWith) {
  Environment environment{{"MEGATRON_OTEL_SPAN_GROUPS", "all"}, {"NEMO_LENS_USER_ID", "inherited"}};
  Config config = Config::from_env(megatron);
  config.span_groups = "step";
  config.user_id = "";
  for (const auto& [name, value] : config.to_env()) environment.set(name.c_str(), value.c_str());
  const Config found = Config::from_env(megatron);
  EXPECT_EQ(found.span_groups, "step");
  EXPECT_EQ(found.user_id, "");
}

TEST(ToEnv, TellsOneEndpointForAllSignalsFromOneForEach) {
  Config config = in_a_run();
  for (OtlpConfig* signal : {&config.standard.otlp_traces, &config.standard.otlp_metrics, &config.standard.otlp_logs}) {
    signal->endpoint = "http://collector:4318";
    signal->protocol = OtlpProtocol::http_protobuf;
  }
  EXPECT_THAT(config.to_env(), Contains(Pair("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")));
  EXPECT_EQ(respawned(config), config);
  config.standard.otlp_logs.endpoint = "http://logs:4318/base";
  const Config found = respawned(config);
  EXPECT_EQ(found.standard.otlp_traces.endpoint, "http://collector:4318/v1/traces");
  EXPECT_EQ(found.standard.otlp_logs.endpoint, "http://logs:4318/base/v1/logs");
  EXPECT_TRUE(found.standard.otlp_logs.endpoint_is_full);
  EXPECT_EQ(respawned(found), found);
}

}  // namespace
}  // namespace lens
