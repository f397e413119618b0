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
  const double ratio = config.standard.traces_sampler_ratio;
  if (!(ratio >= 0.0 && ratio <= 1.0))
    throw std::invalid_argument("the traces sampler's ratio is " + std::to_string(ratio) +
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

model::TraceSampler sampler_of(const Config& config) {
  const double ratio = config.standard.traces_sampler_ratio;
  const auto threshold = [](double share) { return model::TraceSampler::threshold_of(share); };
  return named<model::TraceSampler>("traces sampler", config.standard.traces_sampler,
                                    {{"always_off", {threshold(0), false}},
                                     {"always_on", {threshold(1), false}},
                                     {"parentbased_always_off", {threshold(0), true}},
                                     {"parentbased_always_on", {threshold(1), true}},
                                     {"parentbased_traceidratio", {threshold(ratio), true}},
                                     {"traceidratio", {threshold(ratio), false}}});
}

/// Says when no rank of the world does what it is set up for.
void warn_of_nobody(Plan& plan, const Config& config, const std::string& name, const ExportStrategy& strategy) {
  const std::string world = " of a world of " + std::to_string(plan.rank.world_size);
  if (chooses_nobody(strategy, config, plan.rank.world_size)) {
    plan.warnings.push_back("nothing will be exported: strategy " + name + " chooses no rank" + world);
    return;
  }
  const auto has_spans = [&](const Config& c, const Rank& rank) { return is_sampled(c, rank) && strategy(c, rank); };
  if (config.sampler_enabled && chooses_nobody(has_spans, config, plan.rank.world_size))
    plan.warnings.push_back("no span will be exported: of the ranks that strategy " + name +
                            " chooses, the rank-aware sampler keeps none" + world);
}

void decide_export(Plan& plan, const Config& config, const ExportStrategy& strategy) {
  const std::string name = config.custom_strategy ? "custom" : config.export_strategy;
  plan.exports = strategy(config, plan.rank);
  plan.why = "strategy " + name + (plan.exports ? " chooses" : " does not choose") + " rank " +
             std::to_string(plan.rank.rank) + " of " + std::to_string(plan.rank.world_size);
  const bool is_kept = !config.sampler_enabled || is_sampled(config, plan.rank);
  if (plan.exports && !is_kept) plan.why += ", which the rank-aware sampler leaves without spans";
  plan.records_spans = plan.exports && is_kept && config.traces_enabled && !plan.sampler.keeps_nothing();
  // A callable of the program's own may look at more than its arguments.
  if (!config.custom_strategy) warn_of_nobody(plan, config, name, strategy);
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
  const ExportStrategy strategy =
      config.custom_strategy ? config.custom_strategy : find_strategy(config.export_strategy);
  plan.exporter = exporter_of(config);
  plan.file_format = file_format_of(config);
  check_numbers(config);
  check_run_id(config);
  plan.sampler = sampler_of(config);
  check_rank(rank);

  if (plan.rank.local_rank < 0) plan.rank.local_rank = local_rank(plan.warnings);
  plan.run_id = derive_run_id(config, plan.rank, plan.warnings);
  plan.instance_id = plan.run_id + "-rank" + std::to_string(rank.rank);
  plan.file_dir = config.file_dir.empty() ? default_file_dir(plan.run_id) : config.file_dir;
  plan.spool_dir = config.spool_dir.empty() ? Config::default_spool_dir() : config.spool_dir;

  decide_export(plan, config, strategy);
  if (!plan.exports) return plan;
  if (plan.records_spans) plan.groups = std::move(groups);
  plan.resource = make_resource(config, {plan.rank, plan.run_id, plan.instance_id}, caller);
  return plan;
}

}  // namespace lens::setup
