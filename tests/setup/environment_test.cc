// SPDX-License-Identifier: Apache-2.0
#include "src/setup/environment.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/support/environment.h"

namespace lens::setup {
namespace {

using test::Environment;

TEST(EnvironmentTable, EveryKeyOfAFamilyStandsOnce) {
  std::set<std::pair<Family, std::string_view>> seen;
  for (const Variable& variable : variables())
    EXPECT_TRUE(seen.emplace(variable.family, variable.key).second) << variable.key;
}

TEST(EnvironmentTable, EveryVariableButTheDetectedOnesCanBeApplied) {
  for (const Variable& variable : variables()) {
    EXPECT_EQ(variable.of_config.apply != nullptr,
              variable.family == Family::prefixed || variable.family == Family::standard)
        << variable.key;
    EXPECT_EQ(variable.of_otlp.apply != nullptr, variable.family == Family::otlp) << variable.key;
    EXPECT_FALSE(variable.type.empty()) << variable.key;
  }
}

// Contract: 2.defaults, 2.table
TEST(EnvironmentTable, TheDefaultsThatItTellsAreThoseOfConfig) {
  Environment environment;
  for (const Variable& variable : variables()) {
    const bool is_text = variable.type == "path" || variable.type == "text" ||
                         variable.fallback == "bounded by memory" || variable.fallback == "none" ||
                         variable.fallback.empty();
    if (variable.of_config.apply == nullptr || is_text) continue;
    Config config;
    ASSERT_NO_THROW(variable.of_config.apply(config, {"NAME", std::string{variable.fallback}})) << variable.key;
    const Config defaults;
    EXPECT_EQ(config.enabled, defaults.enabled) << variable.key;
    EXPECT_EQ(config.span_groups, defaults.span_groups) << variable.key;
    EXPECT_EQ(config.export_strategy, defaults.export_strategy) << variable.key;
    EXPECT_EQ(config.export_rank, defaults.export_rank) << variable.key;
    EXPECT_EQ(config.export_sample_rate, defaults.export_sample_rate) << variable.key;
    EXPECT_EQ(config.traces_enabled, defaults.traces_enabled) << variable.key;
    EXPECT_EQ(config.metrics_enabled, defaults.metrics_enabled) << variable.key;
    EXPECT_EQ(config.logs_enabled, defaults.logs_enabled) << variable.key;
    EXPECT_EQ(config.exporter, defaults.exporter) << variable.key;
    EXPECT_EQ(config.spool_size_bytes, defaults.spool_size_bytes) << variable.key;
    EXPECT_EQ(config.standard.span_batch.schedule_delay, defaults.standard.span_batch.schedule_delay) << variable.key;
    EXPECT_EQ(config.standard.log_batch.schedule_delay, defaults.standard.log_batch.schedule_delay) << variable.key;
    EXPECT_EQ(config.standard.metric_export_interval, defaults.standard.metric_export_interval) << variable.key;
    EXPECT_EQ(config.standard.span_limits.attributes, defaults.standard.span_limits.attributes) << variable.key;
    EXPECT_EQ(config.standard.propagators, defaults.standard.propagators) << variable.key;
  }
}

TEST(ReadVariable, TrimsAndTakesBlankForUnset) {
  Environment environment{{"SLURM_JOB_ID", " 42 "}, {"MASTER_ADDR", " "}};
  EXPECT_EQ(read_variable("SLURM_JOB_ID"), "42");
  EXPECT_EQ(read_variable("MASTER_ADDR"), std::nullopt);
  EXPECT_EQ(read_variable("MASTER_PORT"), std::nullopt);
}

TEST(ReadVariable, AsksAliasesAfterTheKey) {
  Environment environment{{"SLURM_NODELIST", "old"}};
  EXPECT_EQ(read_variable("SLURM_JOB_NODELIST"), "old");
  environment.set("SLURM_JOB_NODELIST", "new");
  EXPECT_EQ(read_variable("SLURM_JOB_NODELIST"), "new");
}

}  // namespace
}  // namespace lens::setup
