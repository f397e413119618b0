// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/doctor_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cli/destination.h"
#include "tools/cli/text_format.h"
#include "tools/trace/json_text.h"

namespace lens::cli {
namespace {

using doctor::EffectiveSetting;
using doctor::Examination;
using nlohmann::ordered_json;
using setup::Family;

constexpr std::size_t widest_value = 45;  // longer ones push what stands behind them aside

std::string name_of(const EffectiveSetting& setting) {
  return (setting.family == Family::otlp ? "OTEL_EXPORTER_OTLP_" : "") + std::string(setting.key);
}

// The table is long: what applies by default is of interest for the variables of Lens and for where spans go.
bool is_shown(const EffectiveSetting& setting, bool all) {
  const bool is_set = !setting.variable.empty() || !setting.problem.empty();
  if (setting.family == Family::otlp && setting.signal != "traces")
    return setting.variable.find(setting.signal == "metrics" ? "OTLP_METRICS_" : "OTLP_LOGS_") != std::string::npos;
  const bool is_of_interest = setting.family == Family::prefixed || setting.family == Family::otlp;
  return all || is_set || (is_of_interest && !setting.value.empty());
}

std::string settings_text(const Examination& examination, bool all) {
  std::string text =
      fmt::format("Configuration of a program with the prefix {}\n", fmt::join(examination.prefixes, ", then "));
  std::size_t name_width = 0, value_width = 0;
  for (const EffectiveSetting& setting : examination.settings) {
    if (!is_shown(setting, all)) continue;
    name_width = std::max(name_width, name_of(setting).size());
    if (display_width(setting.value) <= widest_value) value_width = std::max(value_width, display_width(setting.value));
  }
  for (const EffectiveSetting& setting : examination.settings) {
    if (!is_shown(setting, all)) continue;
    const std::size_t width = display_width(setting.value);
    text += fmt::format("  {:<{}}  {}{}  {}{}\n", name_of(setting), name_width, setting.value,
                        std::string(value_width - std::min(width, value_width), ' '),
                        setting.variable.empty() ? "default" : setting.variable,
                        setting.problem.empty() ? "" : " (malformed)");
  }
  if (!all) text += "  (--all shows the standard variables and those of launchers that are not set, too)\n";
  return text;
}

/// ", where 12 spans and 3 log records wait: …"; empty where nothing does.
std::string format_waiting(const doctor::Decision& decision) {
  std::vector<std::string> items;
  if (decision.spooled_spans > 0) items.push_back(format_items(decision.spooled_spans, Signal::traces));
  if (decision.spooled_log_records > 0) items.push_back(format_items(decision.spooled_log_records, Signal::logs));
  return items.empty() ? "" : fmt::format(", where {} wait: `lens flush` sends them", fmt::join(items, " and "));
}

std::string decision_text(const Examination& examination) {
  const doctor::Decision& decision = *examination.decision;
  std::string text = "\nThis process\n";
  text += fmt::format("  rank      {} of {}, {} on this node; {}\n", decision.rank, decision.world_size,
                      decision.local_rank, decision.rank_source);
  text += fmt::format("  run       {}\n",
                      !decision.run_id.empty()
                          ? decision.run_id
                          : fmt::format("of each process its own: no launcher and no {}_RUN_ID names one",
                                        examination.prefixes.front()));
  text += fmt::format("  exports   {}: {}{}\n", decision.exports && examination.is_enabled ? "yes" : "no",
                      examination.is_enabled ? "" : "telemetry is off; else, ", decision.why);
  text +=
      fmt::format("  records   {}\n", !decision.no_spans.empty() ? "no spans: " + decision.no_spans
                                      : decision.groups.empty()  ? "nothing"
                                                                 : fmt::format("{}", fmt::join(decision.groups, ", ")));
  text += fmt::format("  exporter  {}{}\n", decision.exporter,
                      decision.file_dir.empty() ? "" : ", into " + decision.file_dir);
  text += fmt::format("  rings     {}\n", decision.shm_dir.empty() ? "in private memory" : "in " + decision.shm_dir);
  if (decision.exporter == "otlp")
    text += fmt::format("  spool     {}{}\n", decision.spool_dir.empty() ? "none" : decision.spool_dir,
                        format_waiting(decision));
  return text;
}

std::string probe_text(const doctor::ProbeResult& probe) {
  const std::string what = !probe.is_taken         ? "not taken: see below"
                           : probe.message.empty() ? "taken"
                                                   : "taken: " + probe.message;
  const std::string sent =
      probe.signal == Signal::traces ? "One span" : fmt::format("An empty request of {}", signal_name(probe.signal));
  std::string through;
  if (!probe.proxy.empty())
    through = fmt::format("  through the proxy {}, by {}\n", probe.proxy.url, probe.proxy.variable);
  return fmt::format("\n{}, sent to {}\n{}  {} ({} ms)\n", sent, probe.destination, through, what, probe.took.count());
}

std::string coverage_text(const analyze::GroupCoverage& coverage) {
  std::string text = "\nGroups of the trace";
  if (!coverage.spec.empty()) text += fmt::format(", which had `{}` enabled", coverage.spec);
  const auto list = [](const std::vector<std::string>& groups) {
    return groups.empty() ? "none" : fmt::format("{}", fmt::join(groups, ", "));
  };
  text += fmt::format("\n  hit        {}\n  never hit  {}\n", list(coverage.hit), list(coverage.never_hit));
  if (!coverage.unknown.empty())
    text += fmt::format(
        "  not known  {}: {} of {} spans have names of the program's own, and not every process ended in order and\n"
        "             said which groups they are of\n",
        list(coverage.unknown), format_count(coverage.other_span_count), format_count(coverage.span_count));
  return text;
}

std::string problems_text(const Examination& examination) {
  if (examination.problems.empty()) return "\nNo problem was found.\n";
  std::string text = examination.problems.size() == 1 ? "\nA problem\n" : "\nProblems\n";
  for (const doctor::Problem& problem : examination.problems) {
    text += fmt::format("  - {}\n", problem.text);
    if (!problem.remedy.empty()) text += fmt::format("    {}\n", problem.remedy);
  }
  return text;
}

ordered_json or_null(const std::string& text) { return text.empty() ? ordered_json(nullptr) : ordered_json(text); }

ordered_json json_of(const EffectiveSetting& setting) {
  ordered_json object{{"key", name_of(setting)}};
  if (!setting.signal.empty()) object["signal"] = setting.signal;
  object["value"] = setting.value;
  object["variable"] = or_null(setting.variable);
  if (!setting.problem.empty()) object["problem"] = setting.problem;
  return object;
}

ordered_json json_of(const doctor::Decision& decision) {
  return {{"rank", decision.rank},
          {"world_size", decision.world_size},
          {"local_rank", decision.local_rank},
          {"rank_source", decision.rank_source},
          {"run_id", or_null(decision.run_id)},
          {"exports", decision.exports},
          {"why", decision.why},
          {"groups", decision.groups},
          {"no_spans", or_null(decision.no_spans)},
          {"exporter", decision.exporter},
          {"file_dir", or_null(decision.file_dir)},
          {"shm_dir", or_null(decision.shm_dir)},
          {"spool_dir", or_null(decision.spool_dir)},
          {"spooled_spans", decision.spooled_spans},
          {"spooled_log_records", decision.spooled_log_records}};
}

ordered_json json_of(const doctor::ProbeResult& probe) {
  ordered_json proxy;
  if (!probe.proxy.empty()) proxy = {{"variable", probe.proxy.variable}, {"url", probe.proxy.url}};
  return {{"signal", signal_name(probe.signal)},
          {"taken", probe.is_taken},
          {"cause", probe.cause},
          {"destination", probe.destination},
          {"message", probe.message},
          {"remedy", probe.remedy},
          {"took_ms", probe.took.count()},
          {"proxy", proxy}};
}

}  // namespace

std::string doctor_text(const Examination& examination, const std::optional<analyze::GroupCoverage>& coverage,
                        bool all) {
  std::string text = settings_text(examination, all);
  if (examination.decision) text += decision_text(examination);
  for (const doctor::ProbeResult& probe : examination.probes) text += probe_text(probe);
  if (coverage) text += coverage_text(*coverage);
  return text + problems_text(examination);
}

std::string doctor_json(const Examination& examination, const std::optional<analyze::GroupCoverage>& coverage) {
  ordered_json object{{"prefixes", examination.prefixes}, {"enabled", examination.is_enabled}};
  object["settings"] = ordered_json::array();
  for (const EffectiveSetting& setting : examination.settings) object["settings"].push_back(json_of(setting));
  if (examination.decision) object["process"] = json_of(*examination.decision);
  for (const doctor::ProbeResult& probe : examination.probes) object["probes"].push_back(json_of(probe));
  if (coverage)
    object["groups"] = {{"spec", or_null(coverage->spec)},  {"hit", coverage->hit},
                        {"never_hit", coverage->never_hit}, {"unknown", coverage->unknown},
                        {"spans", coverage->span_count},    {"spans_of_unknown_groups", coverage->other_span_count}};
  object["problems"] = ordered_json::array();
  for (const doctor::Problem& problem : examination.problems)
    object["problems"].push_back({{"text", problem.text}, {"remedy", problem.remedy}});
  return trace::json_text(object);
}

}  // namespace lens::cli
