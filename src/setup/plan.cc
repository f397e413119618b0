// SPDX-License-Identifier: Apache-2.0
#include "src/setup/plan.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "src/base/text.h"
#include "src/setup/identity.h"
#include "src/setup/rank.h"
#include "src/setup/resource.h"
#include "src/setup/strategy.h"

namespace lens::setup {
namespace {

/// The value behind a name, in any case. Throws std::invalid_argument that lists the names.
template <typename Value, std::size_t size>
Value named(std::string_view what, const std::string& name, const std::pair<std::string_view, Value> (&choices)[size]) {
  std::vector<std::string_view> names;
  for (const auto& [choice, value] : choices) {
    if (choice == base::lower(name)) return value;
    names.push_back(choice);
  }
  throw std::invalid_argument("unknown " + std::string{what} + " \"" + name +
                              "\"; valid are: " + base::join(names, ", "));
}

Exporter exporter_of(const Config& config) {
  return named<Exporter>(
      "exporter", config.exporter,
      {{"console", Exporter::console}, {"file", Exporter::file}, {"none", Exporter::none}, {"otlp", Exporter::otlp}});
}

FileFormat file_format_of(const Config& config) {
  return named<FileFormat>("file format", config.file_format,
                           {{"json", FileFormat::json}, {"proto", FileFormat::proto}});
}

/// What from_env checks too, for a Config that a program has filled in.
void check_numbers(const Config& config) {
  if (!(config.export_sample_rate >= 0.0 && config.export_sample_rate <= 1.0))
    throw std::invalid_argument("the export sample rate is " + std::to_string(config.export_sample_rate) +
                                "; it must be a number from 0 to 1");
  if (config.sample_every_n_steps < 1)
    throw std::invalid_argument("sample_every_n_steps is " + std::to_string(config.sample_every_n_steps) +
                                "; it must be at least 1");
}

// So much of it finds room in the file of rings, where `lens` looks for the processes of a run.
constexpr std::size_t longest_run_id = 127;

void check_run_id(const Config& config) {
  if (config.run_id.size() > longest_run_id)
    throw std::invalid_argument("the run id has " + std::to_string(config.run_id.size()) + " bytes; at most " +
                                std::to_string(longest_run_id) + " are allowed");
}

void check_rank(const Rank& rank) {
  if (rank.world_size < 1 || rank.rank < 0 || rank.rank >= rank.world_size)
    throw std::invalid_argument("there is no rank " + std::to_string(rank.rank) + " in a world of " +
                                std::to_string(rank.world_size));
}

/// A run id may hold anything; a directory's name may not.
std::string default_file_dir(std::string run_id) {
  std::ranges::replace(run_id, '/', '_');
  if (run_id == "." || run_id == "..") std::ranges::replace(run_id, '.', '_');
  return "lens/" + run_id;
}

void decide_export(Plan& plan, const Config& config, const Strategy& strategy) {
  plan.exports = strategy.exports(config, plan.rank);
  plan.why = "strategy " + std::string{strategy.name} + (plan.exports ? " chooses" : " does not choose") + " rank " +
             std::to_string(plan.rank.rank) + " of " + std::to_string(plan.rank.world_size);
  if (exports_nowhere(strategy, config, plan.rank.world_size))
    plan.warnings.push_back("nothing will be exported: strategy " + std::string{strategy.name} +
                            " chooses no rank of a world of " + std::to_string(plan.rank.world_size));
}

}  // namespace

Plan make_plan(const Config& config, const Rank& rank, const ResourceAttributes& caller) {
  Plan plan;
  plan.rank = rank;
  plan.warnings = config.warnings;
  plan.warnings.insert(plan.warnings.end(), rank.warnings.begin(), rank.warnings.end());
  if (config.standard.sdk_disabled || !config.enabled) {
    plan.why = config.standard.sdk_disabled ? "OTEL_SDK_DISABLED is true" : "telemetry is not enabled";
    return plan;
  }

  GroupSet groups = config.resolved_span_groups();
  const Strategy& strategy = find_strategy(config.export_strategy);
  plan.exporter = exporter_of(config);
  plan.file_format = file_format_of(config);
  check_numbers(config);
  check_run_id(config);
  check_rank(rank);

  if (plan.rank.local_rank < 0) plan.rank.local_rank = local_rank(plan.warnings);
  plan.run_id = derive_run_id(config, plan.rank, plan.warnings);
  plan.instance_id = plan.run_id + "-rank" + std::to_string(rank.rank);
  plan.file_dir = config.file_dir.empty() ? default_file_dir(plan.run_id) : config.file_dir;
  plan.spool_dir = config.spool_dir.empty() ? Config::default_spool_dir() : config.spool_dir;

  decide_export(plan, config, strategy);
  if (!plan.exports) return plan;
  if (config.traces_enabled) plan.groups = std::move(groups);
  plan.resource = make_resource(config, {plan.rank, plan.run_id, plan.instance_id}, caller);
  return plan;
}

}  // namespace lens::setup
