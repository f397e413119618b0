// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/loss_report.h"

#include <string_view>
#include <utility>

namespace lens::telemetry {
namespace {

std::string in_words(const std::string& cause) {
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"answer_too_large", "the collector's answer had no end"},
      {"connection", "the collector could not be reached"},
      {"queue_full", "the collector did not keep up"},
      {"rejected", "the collector rejected them"},
      {"shutdown", "no time was left at shutdown"},
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

}  // namespace

std::string loss_report(const SpanCounts& spans, const exporting::Exporter& exporter) {
  const exporting::ExportCounts& counts = exporter.counts();
  const std::uint64_t lost = spans.ring_full + spans.no_ring + counts.refused();
  if (lost == 0 && spans.lost_records == 0) return {};
  std::string causes;
  const auto add = [&causes](std::uint64_t count, const std::string& words) {
    if (count > 0) causes += (causes.empty() ? "" : ", ") + std::to_string(count) + " (" + words + ")";
  };
  add(spans.ring_full, "the ring of their thread was full");
  add(spans.no_ring, "no ring for their thread");
  for (const auto& [cause, count] : counts.lost) add(count, in_words(cause));
  std::string line = "telemetry lost ";
  if (lost > 0) line += std::to_string(lost) + " of " + std::to_string(spans.started()) + " spans: " + causes;
  if (spans.lost_records > 0)
    line += (lost > 0 ? "; and " : "") + std::to_string(spans.lost_records) +
            " attributes, events or ends of spans that found their ring full";
  if (!counts.lost.empty() && !exporter.last_failure().empty()) line += "; " + exporter.last_failure();
  return line;
}

}  // namespace lens::telemetry
