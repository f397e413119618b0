// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/loss_report.h"

#include <string_view>
#include <utility>

#include "src/base/text.h"

namespace lens::telemetry {
namespace {

std::string in_words(const std::string& cause) {
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"answer_too_large", "the collector's answer had no end"},
      {"connection", "the collector could not be reached"},
      {"not_otlp", "what answered was no collector"},
      {"queue_full", "the collector did not keep up"},
      {"rejected", "the collector rejected them"},
      {"shutdown", "no time was left at shutdown"},
      {"spool_damaged", "their files in the spool were damaged"},
      {"spool_failed", "the spool could not take them"},
      {"spool_full", "the spool was full"},
      {"timeout", "the collector did not answer in time"},
      {"too_large", "too large for the collector"},
      {"write_failed", "they could not be written"},
  };
  for (const auto& [known, in_words] : words)
    if (known == cause) return std::string(in_words);
  return "the collector answered " + cause;
}

void add(std::string& causes, std::uint64_t count, const std::string& words) {
  if (count > 0) causes += (causes.empty() ? "" : ", ") + std::to_string(count) + " (" + words + ")";
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [cause, count] : counts) sum += count;
  return sum;
}

/// Of what this process recorded.
std::uint64_t own_lost_by(const exporting::Exporter& exporter) {
  return exporter.counts().refused() - sum_of(exporter.counts().lost_of_others);
}

void add_own_lost_by(const exporting::Exporter& exporter, std::string& causes) {
  const auto& of_others = exporter.counts().lost_of_others;
  for (const auto& [cause, count] : exporter.counts().lost) {
    const auto others = of_others.find(cause);
    add(causes, count - (others == of_others.end() ? 0 : others->second), in_words(cause));
  }
}

/// What other processes had put into the spool, and this one could not keep or send.
std::string lost_of_others_by(const exporting::Exporter& exporter, std::string_view item) {
  const auto& of_others = exporter.counts().lost_of_others;
  std::string causes;
  for (const auto& [cause, count] : of_others) add(causes, count, in_words(cause));
  return causes.empty() ? "" : base::counted(sum_of(of_others), item) + " of other processes: " + causes;
}

std::string last_failure_of(const exporting::Exporter& exporter) {
  return exporter.counts().lost.empty() || exporter.last_failure().empty() ? "" : "; " + exporter.last_failure();
}

}  // namespace

std::string loss_report(const SpanCounts& spans, const exporting::Exporter& exporter) {
  const std::uint64_t lost = spans.ring_full + spans.no_ring + spans.too_many_open + own_lost_by(exporter);
  const std::string of_others = lost_of_others_by(exporter, "span");
  if (lost == 0 && spans.lost_records == 0 && of_others.empty()) return {};
  std::string causes;
  add(causes, spans.ring_full, "the ring of their thread was full");
  add(causes, spans.no_ring, "no ring for their thread");
  add(causes, spans.too_many_open, "too many were open");
  add_own_lost_by(exporter, causes);
  std::string line = "telemetry lost ";
  if (lost > 0) line += std::to_string(lost) + " of " + std::to_string(spans.started()) + " spans: " + causes;
  if (spans.lost_records > 0)
    line += (lost > 0 ? "; and " : "") + std::to_string(spans.lost_records) +
            " attributes, events or ends of spans that found their ring full";
  if (!of_others.empty()) line += (lost > 0 || spans.lost_records > 0 ? "; and " : "") + of_others;
  return line + last_failure_of(exporter);
}

std::string loss_report(const LogCounts& logs, const exporting::Exporter& exporter) {
  if (logs.created() == 0)
    return "log records are on, and the program made none: it logs by lens::log or hands lens::spdlog_sink to spdlog";
  const std::uint64_t lost = logs.dropped + own_lost_by(exporter);
  const std::string of_others = lost_of_others_by(exporter, "log record");
  if (lost == 0) return of_others.empty() ? "" : "telemetry lost " + of_others + last_failure_of(exporter);
  std::string causes;
  add(causes, logs.dropped, "no room in a ring of their thread");
  add_own_lost_by(exporter, causes);
  return "telemetry lost " + std::to_string(lost) + " of " + std::to_string(logs.created()) +
         " log records: " + causes + (of_others.empty() ? "" : "; and " + of_others) + last_failure_of(exporter);
}

}  // namespace lens::telemetry
