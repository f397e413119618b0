// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/self_metrics.h"

namespace lens::telemetry {
namespace {

using exporting::ExporterIdentity;
using model::Attributes;
using model::Metric;
using model::MetricKind;

Metric number(std::string name, MetricKind kind, std::string unit, std::string description,
              std::vector<model::NumberPoint> points = {}) {
  return {std::move(name), kind, std::move(unit), std::move(description), std::move(points)};
}

model::NumberPoint point(std::uint64_t value, Attributes attributes = {}) {
  return {std::move(attributes), static_cast<std::int64_t>(value)};
}

Attributes with_cause(Attributes attributes, const std::string& cause) {
  if (!cause.empty()) attributes.emplace_back("error.type", cause);
  return attributes;
}

Attributes component(const std::string& type) {
  return {{"otel.component.type", type}, {"otel.component.name", type + "/0"}};
}

Attributes component(const ExporterIdentity& identity) {
  Attributes attributes = component(identity.type);
  if (!identity.server_address.empty()) attributes.emplace_back("server.address", identity.server_address);
  if (identity.server_port > 0) attributes.emplace_back("server.port", std::int64_t{identity.server_port});
  return attributes;
}

void add_spans(std::vector<Metric>& metrics, const SpanCounts& spans) {
  const Attributes processor = component("batching_span_processor");
  metrics.push_back(number("otel.sdk.span.started", MetricKind::counter, "{span}", "Spans that began.",
                           {point(spans.started(), {{"otel.span.sampling_result", "RECORD_AND_SAMPLE"}})}));
  metrics.push_back(number("otel.sdk.span.live", MetricKind::up_down_counter, "{span}", "Spans that are open.",
                           {point(spans.live, {{"otel.span.sampling_result", "RECORD_AND_SAMPLE"}})}));
  metrics.push_back(number("otel.sdk.processor.span.queue.size", MetricKind::up_down_counter, "{span}",
                           "Spans that have ended and wait for their batch to go.", {point(spans.batched, processor)}));
  Metric processed =
      number("otel.sdk.processor.span.processed", MetricKind::counter, "{span}",
             "Spans handed to the exporter, or lost before, by cause.", {point(spans.processed, processor)});
  if (spans.ring_full > 0) processed.numbers.push_back(point(spans.ring_full, with_cause(processor, "queue_full")));
  if (spans.no_ring > 0) processed.numbers.push_back(point(spans.no_ring, with_cause(processor, "no_ring")));
  if (spans.too_many_open > 0)
    processed.numbers.push_back(point(spans.too_many_open, with_cause(processor, "too_many_open")));
  metrics.push_back(std::move(processed));
}

void add_logs(std::vector<Metric>& metrics, const LogCounts& logs) {
  const Attributes processor = component("batching_log_processor");
  metrics.push_back(number("otel.sdk.log.created", MetricKind::counter, "{log_record}", "Log records that were made.",
                           {point(logs.created())}));
  metrics.push_back(number("otel.sdk.processor.log.queue.size", MetricKind::up_down_counter, "{log_record}",
                           "Log records that wait for their batch to go.", {point(logs.batched, processor)}));
  Metric processed =
      number("otel.sdk.processor.log.processed", MetricKind::counter, "{log_record}",
             "Log records handed to the exporter, or lost before, by cause.", {point(logs.processed, processor)});
  if (logs.dropped > 0) processed.numbers.push_back(point(logs.dropped, with_cause(processor, "queue_full")));
  metrics.push_back(std::move(processed));
}

void add_rings(std::vector<Metric>& metrics, const RingFill& rings, std::uint64_t lost_records) {
  metrics.push_back(number("lens.ring.usage", MetricKind::up_down_counter, "By",
                           "Recorded, and not taken out of the rings yet.", {point(rings.used_bytes)}));
  metrics.push_back(
      number("lens.ring.limit", MetricKind::up_down_counter, "By", "Room of all rings.", {point(rings.room_bytes)}));
  metrics.push_back(number("lens.ring.lost", MetricKind::counter, "{record}",
                           "Attributes, events, links, status and ends of spans that found no room.",
                           {point(lost_records)}));
}

/// What is told of each exporter's items; one metric of each name for those of one signal.
void add_exporter(std::vector<Metric>& metrics, const ExporterReading& reading) {
  const exporting::ExportCounts& counts = reading.exporter.counts();
  const Attributes attributes = component(reading.exporter.identity());
  const SignalTerms& terms = terms_of(reading.signal);
  const std::string prefix = "otel.sdk.exporter." + std::string(terms.metric) + '.';
  const std::string unit(terms.unit), items = std::string(terms.item) + "s";
  metrics.push_back(number(prefix + "inflight", MetricKind::up_down_counter, unit,
                           "The " + items + " that the exporter has in memory, waiting or under way.",
                           {point(reading.exporter.in_flight(), attributes)}));
  Metric exported = number(prefix + "exported", MetricKind::counter, unit,
                           "The " + items + " that were delivered, or lost by the exporter, by cause.",
                           {point(counts.exported, attributes)});
  for (const auto& [cause, count] : counts.lost)
    exported.numbers.push_back(point(count, with_cause(attributes, cause)));
  metrics.push_back(std::move(exported));
}

void add_requests(std::vector<Metric>& metrics, const std::vector<ExporterReading>& exporters) {
  Metric durations{"otel.sdk.exporter.operation.duration", MetricKind::histogram, "s",
                   "How long a batch took, from its first attempt to its end."};
  Metric retries = number("lens.exporter.retries", MetricKind::counter, "{request}",
                          "Requests that had failed or been kept before.");
  for (const ExporterReading& reading : exporters) {
    const Attributes attributes = component(reading.exporter.identity());
    for (const auto& [cause, histogram] : reading.exporter.counts().durations)
      durations.histograms.push_back({with_cause(attributes, cause), histogram});
    retries.numbers.push_back(point(reading.exporter.counts().retries, attributes));
  }
  metrics.push_back(std::move(durations));
  metrics.push_back(std::move(retries));
}

/// Exporters share it: the first one that has it tells.
void add_spool(std::vector<Metric>& metrics, const std::vector<ExporterReading>& exporters) {
  std::optional<exporting::SpoolFill> fill;
  for (const ExporterReading& reading : exporters)
    if (!fill) fill = reading.exporter.spool_fill();
  if (!fill) return;
  metrics.push_back(number("lens.spool.spans", MetricKind::up_down_counter, "{span}",
                           "What waits in the spool, of all that share it.", {point(fill->spans)}));
  metrics.push_back(number("lens.spool.usage", MetricKind::up_down_counter, "By",
                           "What waits in the spool, of all that share it.", {point(fill->used_bytes)}));
  metrics.push_back(
      number("lens.spool.limit", MetricKind::up_down_counter, "By", "Room of the spool.", {point(fill->room_bytes)}));
}

}  // namespace

std::vector<Metric> self_metrics(const SpanCounts& spans, const std::optional<LogCounts>& logs, const RingFill& rings,
                                 const std::vector<ExporterReading>& exporters) {
  std::vector<Metric> metrics;
  add_spans(metrics, spans);
  if (logs) add_logs(metrics, *logs);
  add_rings(metrics, rings, spans.lost_records);
  for (const ExporterReading& reading : exporters) add_exporter(metrics, reading);
  add_spool(metrics, exporters);
  add_requests(metrics, exporters);
  return metrics;
}

}  // namespace lens::telemetry
