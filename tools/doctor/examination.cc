// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/examination.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "src/export/spool.h"
#include "src/setup/plan.h"
#include "src/setup/rank.h"
#include "src/setup/resource.h"

namespace lens::doctor {
namespace {

namespace fs = std::filesystem;

const std::string common_prefix = "NEMO_LENS", megatron_prefix = "MEGATRON_OTEL";

void add_problem(Examination& examination, std::string text, std::string remedy = {}) {
  const auto says_it = [&](const Problem& problem) { return problem.text == text; };
  if (std::ranges::none_of(examination.problems, says_it))
    examination.problems.push_back({std::move(text), std::move(remedy)});
}

std::string rank_source() {
  const auto variables = setup::rank_variables();
  if (!variables) return "no launcher's variable is set";
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

/// Without making it: a directory that is not there is made where its parent allows.
bool can_write(fs::path path) {
  std::error_code error;
  path = fs::absolute(path);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return fs::is_directory(path, error) && access(path.c_str(), W_OK | X_OK) == 0;
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

void examine_destination(Examination& examination, const Config& config) {
  Decision& decision = *examination.decision;
  if (decision.exporter == "none")
    add_problem(examination, "the exporter is none: what is recorded goes nowhere",
                fmt::format("set {}_EXPORTER to otlp, file or console", examination.prefixes.front()));
  if (decision.exporter == "file" && !can_write(decision.file_dir))
    add_problem(examination, fmt::format("{} cannot be written", decision.file_dir),
                fmt::format("set {}_FILE_DIR to a directory that can be", examination.prefixes.front()));
  if (decision.exporter != "otlp" || config.spool_size_bytes == 0 || decision.spool_dir.empty()) return;
  const exporting::Spool spool({decision.spool_dir, std::numeric_limits<std::uint64_t>::max(), ""}, {});
  decision.spooled_spans = spool.contents().spans;
  if (!can_write(decision.spool_dir))
    add_problem(examination,
                fmt::format("the spool {} cannot be written: what cannot be sent would be lost", decision.spool_dir),
                fmt::format("set {}_SPOOL_DIR to a directory that can be", examination.prefixes.front()));
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
  decision.run_id = plan.run_id;
  decision.exports = plan.exports;
  decision.why = plan.why;
  const GroupSet groups = config.resolved_span_groups();
  decision.groups.assign(groups.begin(), groups.end());
  decision.exporter = exporter_name(plan.exporter);
  if (plan.exporter == setup::Exporter::file) decision.file_dir = plan.file_dir;
  if (plan.exporter == setup::Exporter::otlp) decision.spool_dir = plan.spool_dir;
  examination.decision = std::move(decision);
  examine_destination(examination, config);
} catch (const std::invalid_argument& error) {
  for (const std::string& warning : config.warnings) add_problem(examination, warning);
  add_problem(examination, fmt::format("set-up would throw: {}", error.what()));
}

void send_one_span(Examination& examination, const Config& config, const Rank& rank) {
  OtlpConfig otlp = config.standard.otlp_traces;
  const auto resource = setup::make_resource(config, {rank, "lens-doctor", "lens-doctor"}, {});
  try {
    examination.probe = probe(otlp, resource);
  } catch (const std::invalid_argument& malformed) {
    add_problem(examination, fmt::format("{}; the default is used", malformed.what()));
    otlp.endpoint.clear();
    examination.probe = probe(otlp, resource);
  }
  if (!examination.probe->is_taken)
    add_problem(examination, fmt::format("a span was not taken: {}", examination.probe->message),
                examination.probe->remedy);
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
    if (options.sends && is_otlp) send_one_span(examination, config, rank);
  } catch (const std::invalid_argument& error) {
    for (const EffectiveSetting& setting : examination.settings)
      if (!setting.problem.empty()) add_problem(examination, setting.problem);
    for (const std::string& warning : setup::unknown_variables(beginnings)) add_problem(examination, warning);
    add_problem(examination, error.what());
  }
  return examination;
}

}  // namespace lens::doctor
