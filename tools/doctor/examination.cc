// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/examination.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "src/export/spool.h"
#include "src/setup/identity.h"
#include "src/setup/plan.h"
#include "src/setup/rank.h"
#include "src/setup/resource.h"
#include "tools/doctor/directories.h"

namespace lens::doctor {
namespace {

const std::string common_prefix = "NEMO_LENS", megatron_prefix = "MEGATRON_OTEL";

void add_problem(Examination& examination, std::string text, std::string remedy = {}) {
  const auto says_it = [&](const Problem& problem) { return problem.text == text; };
  if (std::ranges::none_of(examination.problems, says_it))
    examination.problems.push_back({std::move(text), std::move(remedy)});
}

std::string rank_source() {
  const auto variables = setup::rank_variables();
  if (!variables) return "no launcher started it";
  return fmt::format("from {} and {}", variables->rank, variables->world_size);
}

std::string exporter_name(setup::Exporter exporter) {
  switch (exporter) {
    case setup::Exporter::otlp: return "otlp";
    case setup::Exporter::console: return "console";
    case setup::Exporter::file: return "file";
    case setup::Exporter::none: break;
  }
  return "none";
}

/// A program of the Megatron family would see these; another one does not.
void find_variables_of_another_prefix(Examination& examination, const ExaminationOptions& options) {
  if (options.prefix != common_prefix) return;
  for (const setup::Variable& variable : setup::variables()) {
    const std::string other = megatron_prefix + "_";
    if (variable.family != setup::Family::prefixed) continue;
    if (const auto setting = setup::find_setting(variable, std::span(&other, 1)))
      return add_problem(
          examination,
          fmt::format("{} is set, which a program with the prefix {} does not read", setting->name, common_prefix),
          "for a program of the Megatron family, ask with --prefix MEGATRON_OTEL");
  }
}

void examine_enabled(Examination& examination, const Config& config) {
  examination.is_enabled = config.enabled && !config.standard.sdk_disabled;
  if (config.standard.sdk_disabled) {
    add_problem(examination, "telemetry is off: OTEL_SDK_DISABLED is true", "unset it");
  } else if (!config.enabled) {
    add_problem(
        examination, "telemetry is off: nothing is recorded until it is enabled",
        fmt::format("set {}_ENABLED=1, or start the program by `lens run`, which does", examination.prefixes.front()));
  }
}

void examine_rings(Examination& examination, const Config& config) {
  constexpr std::uint64_t most_bytes = 12 << 20;  // of a process, with all its rings
  if (config.shm_dir.empty()) return;
  std::string why = why_no_rings(config.shm_dir);
  const auto free = free_bytes(config.shm_dir);
  if (why.empty() && free && *free < most_bytes)
    why = fmt::format("{} has room for {} more bytes, and a process may need {}", config.shm_dir, *free, most_bytes);
  if (!why.empty())
    add_problem(
        examination,
        fmt::format(
            "rings find no place in shared memory: {}; what does not lie there is seen neither by `lens top` and "
            "`lens set` nor by `lens recover`",
            why),
        fmt::format("set {}_SHM_DIR to a directory of this user's own in /dev/shm", examination.prefixes.front()));
}

void examine_spool(Examination& examination, const Config& config) {
  constexpr std::uint64_t least_bytes = 1 << 20;  // of which a request takes up to half
  Decision& decision = *examination.decision;
  if (config.spool_size_bytes == 0) return;
  const std::string& prefix = examination.prefixes.front();
  const auto add = [&](const std::string& text, const std::string& remedy) {
    add_problem(examination, text + ": what cannot be sent would be lost", remedy);
  };
  if (decision.spool_dir.empty())
    return add("there is no spool, as HOME is not set", fmt::format("set {}_SPOOL_DIR", prefix));
  const exporting::Spool spool({decision.spool_dir, std::numeric_limits<std::uint64_t>::max(), ""}, {});
  decision.spooled_spans = spool.contents(Signal::traces).items;
  decision.spooled_log_records = spool.contents(Signal::logs).items;
  const std::string why = why_not_writable(decision.spool_dir);
  if (!why.empty())
    return add(fmt::format("the spool {} cannot be written ({})", decision.spool_dir, why),
               fmt::format("set {}_SPOOL_DIR to a directory that can be", prefix));
  if (const std::string no_locks = why_no_locks(decision.spool_dir); !no_locks.empty())
    add_problem(
        examination,
        fmt::format("the file system of the spool {} has no locks ({}): processes that share it may send a "
                    "request twice",
                    decision.spool_dir, no_locks),
        fmt::format("set {}_SPOOL_DIR to another file system, or for each process to a directory of its own", prefix));
  if (config.spool_size_bytes < least_bytes)
    add(fmt::format("the spool may hold {} bytes, which a request or two can exceed", config.spool_size_bytes),
        fmt::format("set {}_SPOOL_SIZE to 1MiB or more, or to 0 for no spool", prefix));
  const std::uint64_t held = spool.listing().bytes;
  const auto free = free_bytes(decision.spool_dir);
  if (free && *free + held < config.spool_size_bytes)
    add(fmt::format("the spool {} may hold {} bytes, and its file system has room for {} more", decision.spool_dir,
                    config.spool_size_bytes, *free),
        fmt::format("make room, or set {}_SPOOL_DIR to a larger file system", prefix));
}

void examine_destination(Examination& examination, const Config& config) {
  const Decision& decision = *examination.decision;
  const std::string& prefix = examination.prefixes.front();
  examine_rings(examination, config);
  if (decision.exporter == "otlp") examine_spool(examination, config);
  if (decision.exporter == "none")
    add_problem(examination, "the exporter is none: what is recorded goes nowhere",
                fmt::format("set {}_EXPORTER to otlp, file or console", prefix));
  if (decision.exporter != "file") return;
  if (const std::string why = why_not_writable(decision.file_dir); !why.empty())
    add_problem(examination, fmt::format("{} cannot be written ({})", decision.file_dir, why),
                fmt::format("set {}_FILE_DIR to a directory that can be", prefix));
}

void decide(Examination& examination, Config config, const Rank& rank) try {
  config.enabled = true;  // what would be
  config.standard.sdk_disabled = false;
  const setup::Plan plan = setup::make_plan(config, rank);
  for (const std::string& warning : plan.warnings) add_problem(examination, warning);
  Decision decision;
  decision.rank = plan.rank.rank;
  decision.world_size = plan.rank.world_size;
  decision.local_rank = plan.rank.local_rank;
  decision.rank_source = rank_source();
  const bool is_own_run = setup::is_run_of_one_process(config, rank);
  if (!is_own_run) decision.run_id = plan.run_id;
  decision.exports = plan.exports;
  decision.why = plan.why;
  const GroupSet groups = config.resolved_span_groups();
  decision.no_spans = plan.no_spans;
  if (plan.no_spans.empty())
    decision.groups.assign(groups.begin(), groups.end());
  else
    add_problem(examination, fmt::format("no spans are recorded: {}", plan.no_spans));
  decision.exporter = exporter_name(plan.exporter);
  if (plan.exporter == setup::Exporter::file) decision.file_dir = plan.file_dir;
  decision.shm_dir = config.shm_dir;
  if (plan.exporter == setup::Exporter::otlp && config.spool_size_bytes > 0) decision.spool_dir = plan.spool_dir;
  examination.decision = std::move(decision);
  examine_destination(examination, config);
  // This process's own was good enough to be tried.
  if (is_own_run && config.file_dir.empty() && plan.exporter == setup::Exporter::file)
    examination.decision->file_dir = "lens/<run id>";
} catch (const std::invalid_argument& error) {
  for (const std::string& warning : config.warnings) add_problem(examination, warning);
  add_problem(examination, fmt::format("set-up would throw: {}", error.what()));
}

void send_one(Examination& examination, OtlpConfig otlp, Signal signal, const ResourceAttributes& resource) {
  const auto send = [&] { examination.probes.push_back(probe(otlp, signal, resource)); };
  try {
    send();
  } catch (const std::invalid_argument& malformed) {
    add_problem(examination, fmt::format("{}; the default is used", malformed.what()));
    otlp.endpoint.clear();
    send();
  }
}

/// What is wrong with a server is wrong for every signal; a path, and what is not understood, may be of one alone.
bool is_same_failure(const ProbeResult& left, const ProbeResult& right) {
  if (left.is_taken || right.is_taken || left.cause != right.cause) return false;
  if (left.cause == "path" || left.cause == "other") return left.message == right.message;
  const auto server_of = [](const std::string& url) { return url.substr(0, url.find('/', url.find("://") + 3)); };
  return server_of(left.destination) == server_of(right.destination);
}

/// One problem for all signals that fail alike.
void add_failures(Examination& examination) {
  const std::vector<ProbeResult>& probes = examination.probes;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const auto is_same = [&](const ProbeResult& other) { return is_same_failure(probes[i], other); };
    if (probes[i].is_taken || std::any_of(probes.begin(), probes.begin() + std::ptrdiff_t(i), is_same)) continue;
    std::vector<std::string> items;
    for (const ProbeResult& probe : probes)
      if (is_same(probe))
        items.push_back(probe.signal == Signal::traces ? "a span" : std::string(item_of(probe.signal)) + 's');
    add_problem(examination,
                fmt::format("{} {} not taken: {}", fmt::join(items, ", "),
                            items.size() == 1 && items.front() == "a span" ? "was" : "were", probes[i].message),
                probes[i].remedy);
  }
}

void send_to_endpoints(Examination& examination, const Config& config, const Rank& rank) {
  const auto& [traces, metrics, logs] =
      std::tie(config.standard.otlp_traces, config.standard.otlp_metrics, config.standard.otlp_logs);
  const auto resource = setup::make_resource(config, {rank, "lens-doctor", "lens-doctor"}, {});
  const bool has_spans = examination.decision->no_spans.empty();
  if (has_spans) send_one(examination, traces, Signal::traces, resource);
  const auto is_tried = [has_spans, &of_spans = traces](const OtlpConfig& otlp) {
    return has_spans && otlp == of_spans;
  };
  if (config.metrics_enabled && !is_tried(metrics)) send_one(examination, metrics, Signal::metrics, resource);
  if (config.logs_enabled && !is_tried(logs)) send_one(examination, logs, Signal::logs, resource);
  add_failures(examination);
}

}  // namespace

Examination examine(const ExaminationOptions& options) {
  Examination examination;
  examination.prefixes = {options.prefix};
  if (options.prefix != common_prefix) examination.prefixes.push_back(common_prefix);
  std::vector<std::string> beginnings;
  for (const std::string& prefix : examination.prefixes) beginnings.push_back(prefix + "_");
  examination.settings = effective_settings(beginnings);
  find_variables_of_another_prefix(examination, options);
  try {
    const std::string fallback = examination.prefixes.size() > 1 ? common_prefix : "";
    const Config config =
        Config::from_env({.prefix = options.prefix, .fallback_prefix = fallback, .vocabulary = options.vocabulary});
    const Rank rank = Rank::from_env();
    examine_enabled(examination, config);
    decide(examination, config, rank);
    const bool is_otlp = examination.decision && examination.decision->exporter == "otlp";
    if (options.sends && is_otlp) send_to_endpoints(examination, config, rank);
  } catch (const std::invalid_argument& error) {
    for (const EffectiveSetting& setting : examination.settings)
      if (!setting.problem.empty()) add_problem(examination, setting.problem);
    for (const std::string& warning : setup::unknown_variables(beginnings)) add_problem(examination, warning);
    add_problem(examination, error.what());
  }
  return examination;
}

}  // namespace lens::doctor
