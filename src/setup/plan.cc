// SPDX-License-Identifier: Apache-2.0
#include "src/setup/plan.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "lens/time_limit.h"
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
  if (config.shutdown_timeout.count() < 0)
    throw std::invalid_argument("the shutdown timeout is " + std::to_string(config.shutdown_timeout.count()) +
                                " ms; it must be at least 0");
  if (config.sample_every_n_steps < 1)
    throw std::invalid_argument("sample_every_n_steps is " + std::to_string(config.sample_every_n_steps) +
                                "; it must be at least 1");
}

void check_run_id(const Config& config) {
  if (config.run_id.size() > longest_run_id)
    throw std::invalid_argument("the run id has " + std::to_string(config.run_id.size()) + " bytes; at most " +
                                std::to_string(longest_run_id) + " are allowed");
}

// What killed processes leave is recovered there, so that has to find room too.
constexpr std::size_t longest_file_dir = 1023;

void check_file_dir(const std::string& file_dir) {
  std::error_code ignored;
  const std::size_t size = std::filesystem::absolute(file_dir, ignored).native().size();
  if (size > longest_file_dir)
    throw std::invalid_argument("the path of the trace directory has " + std::to_string(size) + " bytes; at most " +
                                std::to_string(longest_file_dir) + " are allowed");
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

void warn_of_small_files(Plan& plan, const Config& config) {
  constexpr std::uint64_t least_bytes = 1 << 20;
  const std::uint64_t bytes = config.file_max_size_bytes;
  if (plan.exporter == Exporter::file && bytes > 0 && bytes < least_bytes)
    plan.warnings.push_back(config.prefix + "_FILE_MAX_SIZE is " + std::to_string(bytes) +
                            ": below 1MiB, files hold hardly more than a request each");
}

/// A batch waits while it grows, so that the queue bounds it; OpenTelemetry has it so too.
BatchConfig fit_into_queue(BatchConfig batch, const std::string& variables, std::vector<std::string>& warnings) {
  if (batch.max_queue_size == 0) return batch;
  if (batch.max_export_batch_size > batch.max_queue_size)
    warnings.push_back(variables + "_MAX_EXPORT_BATCH_SIZE is " + std::to_string(batch.max_export_batch_size) +
                       ", more than " + variables + "_MAX_QUEUE_SIZE: batches hold " +
                       std::to_string(batch.max_queue_size));
  if (batch.max_export_batch_size == 0 || batch.max_export_batch_size > batch.max_queue_size)
    batch.max_export_batch_size = batch.max_queue_size;
  return batch;
}

BatchConfig within_clocks(BatchConfig batch) {
  batch.schedule_delay = detail::bounded(batch.schedule_delay);
  batch.export_timeout = detail::bounded(batch.export_timeout);
  return batch;
}

/// 0 when nodes hold different numbers of ranks, or the ranks in another order.
int ranks_per_node(const Rank& rank) {
  const int count = rank.world_size == 1 ? 1 : ranks_on_node().value_or(0);
  return count > 0 && rank.rank % count == rank.local_rank ? count : 0;
}

/// On a rank that has no spans: says when no rank of the world does what it is set up for.
void warn_of_nobody(Plan& plan, const Config& config, const std::string& name, const ExportStrategy& strategy) {
  // A callable of the program's own may look at more than its arguments.
  if (config.custom_strategy && plan.rank.world_size > 1) return;
  const std::string world = " of a world of " + std::to_string(plan.rank.world_size);
  const int per_node = ranks_per_node(plan.rank);
  if (!plan.exports && chooses_nobody(strategy, config, plan.rank.world_size, per_node)) {
    plan.warnings.push_back("nothing will be exported: strategy " + name + " chooses no rank" + world);
    return;
  }
  constexpr bool with_spans = true;
  if (config.sampler_enabled && chooses_nobody(strategy, config, plan.rank.world_size, per_node, with_spans))
    plan.warnings.push_back("no span will be exported: of the ranks that strategy " + name +
                            " chooses, the rank-aware sampler keeps none" + world);
}

std::string why_no_spans(const Plan& plan, const Config& config, bool is_kept) {
  if (!config.traces_enabled)
    return config.standard.traces_exporter == "none" ? "OTEL_TRACES_EXPORTER is none" : "spans are turned off";
  if (!is_kept) return "the rank-aware sampler does not keep this rank's";
  if (plan.sampler.keeps_nothing()) return "the sampler of OTEL_TRACES_SAMPLER keeps none";
  return {};
}

/// What began outside decides; only explicit roots escape it.
void warn_of_unsampled_parent(Plan& plan, const Config& config) {
  const SpanContext& parent = config.started_in.context;
  if (plan.records_spans && plan.sampler.follows_parent && parent && !(parent.flags & SpanContext::sampled))
    plan.warnings.push_back(
        "the span that TRACEPARENT names is not sampled, so that none below it is kept: set OTEL_TRACES_SAMPLER to "
        "always_on to keep them");
}

void decide_export(Plan& plan, const Config& config, const ExportStrategy& strategy) {
  const std::string name = config.custom_strategy ? "custom" : config.export_strategy;
  plan.exports = strategy(config, plan.rank);
  plan.why = "strategy " + name + (plan.exports ? " chooses" : " does not choose") + " rank " +
             std::to_string(plan.rank.rank) + " of " + std::to_string(plan.rank.world_size);
  const bool is_kept = !config.sampler_enabled || is_sampled(config, plan.rank);
  if (plan.exports && !is_kept) plan.why += ", which the rank-aware sampler leaves without spans";
  if (plan.exports) plan.no_spans = why_no_spans(plan, config, is_kept);
  plan.records_spans = plan.exports && plan.no_spans.empty();
  warn_of_unsampled_parent(plan, config);
  plan.records_logs = plan.exports && config.logs_enabled;
  if (!plan.exports || !is_kept) warn_of_nobody(plan, config, name, strategy);
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
  check_file_dir(plan.file_dir);
  plan.spool_dir = config.spool_dir.empty() ? Config::default_spool_dir() : config.spool_dir;

  decide_export(plan, config, strategy);
  if (!plan.exports) return plan;
  warn_of_small_files(plan, config);
  plan.span_batch = within_clocks(fit_into_queue(config.standard.span_batch, "OTEL_BSP", plan.warnings));
  plan.log_batch = within_clocks(fit_into_queue(config.standard.log_batch, "OTEL_BLRP", plan.warnings));
  if (plan.records_spans) plan.groups = std::move(groups);
  plan.resource = make_resource(config, {plan.rank, plan.run_id, plan.instance_id}, caller);
  return plan;
}

}  // namespace lens::setup
