// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lens/megatron.h"
#include "tools/analyze/group_coverage.h"
#include "tools/cli/commands.h"
#include "tools/cli/doctor_text.h"
#include "tools/doctor/examination.h"
#include "tools/trace/trace.h"

namespace lens::cli {
namespace {

struct DoctorOptions {
  std::string prefix = "NEMO_LENS", vocabulary, trace;
  bool is_offline = false, all = false, is_json = false;
};

const Vocabulary& vocabulary_of(const DoctorOptions& options) {
  const bool is_megatron =
      options.vocabulary.empty() ? options.prefix == "MEGATRON_OTEL" : options.vocabulary == "megatron";
  return is_megatron ? MegatronSpanGroup::vocabulary() : SpanGroup::vocabulary();
}

std::string effective_spec(const doctor::Examination& examination) {
  for (const doctor::EffectiveSetting& setting : examination.settings)
    if (setting.family == setup::Family::prefixed && setting.key == "SPAN_GROUPS") return setting.value;
  return "";
}

std::optional<analyze::GroupCoverage> coverage_of(const DoctorOptions& options, doctor::Examination& examination) {
  if (options.trace.empty()) return std::nullopt;
  const trace::Trace trace = trace::open_trace(options.trace);
  try {
    auto coverage = analyze::group_coverage(trace, effective_spec(examination), vocabulary_of(options));
    for (const trace::Problem& problem : coverage.problems)
      examination.problems.push_back({fmt::format("{}: {}", problem.file.string(), problem.reason), ""});
    if (coverage.span_count == 0) examination.problems.push_back({options.trace + " holds no spans", ""});
    return coverage;
  } catch (const std::invalid_argument& error) {
    examination.problems.push_back(
        {fmt::format("which groups {} had enabled is not known: {}", options.trace, error.what()),
         "--vocabulary names whose groups they are"});
    return std::nullopt;
  }
}

int run_doctor(const DoctorOptions& options) {
  doctor::Examination examination =
      doctor::examine({.prefix = options.prefix, .vocabulary = vocabulary_of(options), .sends = !options.is_offline});
  const auto coverage = coverage_of(options, examination);
  fmt::print("{}",
             options.is_json ? doctor_json(examination, coverage) : doctor_text(examination, coverage, options.all));
  return examination.problems.empty() ? exit_success : exit_failed;
}

}  // namespace

void add_doctor_command(CLI::App& program, int& exit_code) {
  CLI::App* command =
      program.add_subcommand("doctor", "Say what would be recorded here, whether it arrives, and why not");
  auto options = std::make_shared<DoctorOptions>();
  command
      ->add_option("--prefix", options->prefix, "Which variables the program reads; NEMO_LENS stands behind any other")
      ->capture_default_str();
  command
      ->add_option("--vocabulary", options->vocabulary, "Whose groups: base or megatron (default: as the prefix says)")
      ->check(CLI::IsMember({"base", "megatron"}));
  command->add_option("--trace", options->trace, "A trace directory: which groups were enabled in it and never hit?");
  command->add_flag("--offline", options->is_offline, "Send nothing to the collector");
  command->add_flag("--all", options->all, "Show every variable");
  command->add_flag("--json", options->is_json,
                    "Print JSON with the keys settings, process, probes, groups and problems");
  command->footer(
      "Exit codes: 0 no problem, 1 a problem was found, 2 wrong usage. Run it where and as the program runs:\n"
      "RANK=3 WORLD_SIZE=8 lens doctor explains rank 3. Values of OTLP headers are not shown.");
  command->callback([options, &exit_code] { exit_code = run_doctor(*options); });
}

}  // namespace lens::cli
