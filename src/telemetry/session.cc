// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/session.h"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "lens/version.h"
#include "src/export/console_exporter.h"
#include "src/export/file_exporter.h"
#include "src/export/otlp_exporter.h"
#include "src/model/group_registry.h"
#include "src/record/clock.h"
#include "src/record/layout.h"
#include "src/record/names.h"
#include "src/telemetry/error_sink.h"

namespace lens {
namespace {

class NoExporter : public exporting::Exporter {
 public:
  void export_batch(exporting::Batch batch) override { counts_.exported += batch.count; }
  exporting::ExporterIdentity identity() const override { return {"none"}; }
};

exporting::OtlpExporterOptions options_of_spans(const setup::Plan& plan, const Config& config) {
  exporting::OtlpExporterOptions options;
  options.otlp = config.standard.otlp_traces;
  options.spool = {plan.spool_dir, config.spool_size_bytes, plan.run_id};
  options.export_timeout = config.standard.span_batch.export_timeout;
  options.most_queued_spans = config.standard.span_batch.max_queue_size;
  options.most_batches = record::batch_count - 1;  // the other one is being filled
  return options;
}

exporting::OtlpExporterOptions options_of_metrics(const Config& config) {
  exporting::OtlpExporterOptions options;
  options.signal = Signal::metrics;
  options.otlp = config.standard.otlp_metrics;
  options.otlp.timeout = std::min(options.otlp.timeout, config.standard.metric_export_timeout);
  options.one_attempt = true;
  return options;
}

std::unique_ptr<exporting::Exporter> make_otlp_exporter(Signal signal, const setup::Plan& plan, const Config& config,
                                                        const otlp::Envelope& envelope,
                                                        const exporting::ErrorSink& on_error) {
  const auto announce = telemetry::announcing(config.on_error);
  exporting::OtlpExporterOptions options =
      signal == Signal::traces ? options_of_spans(plan, config) : options_of_metrics(config);
  // The ranks of a job start in one moment: their jitter must differ all the same.
  options.jitter_seed = std::hash<std::string>()(plan.instance_id) ^ std::uint64_t(getpid());
  try {
    return std::make_unique<exporting::OtlpExporter>(options, envelope, on_error, announce);
  } catch (const std::invalid_argument& malformed) {
    // A malformed standard variable does not stop the job.
    const bool is_said = signal == Signal::metrics && options.otlp.endpoint == config.standard.otlp_traces.endpoint;
    if (!is_said) announce(std::string(malformed.what()) + "; the default is used");
    options.otlp.endpoint.clear();
    return std::make_unique<exporting::OtlpExporter>(options, envelope, on_error, announce);
  }
}

std::unique_ptr<exporting::Exporter> make_file_exporter(Signal signal, const setup::Plan& plan, const Config& config,
                                                        const otlp::Envelope& envelope,
                                                        const exporting::ErrorSink& on_error) {
  exporting::FileExporterOptions options;
  options.directory = plan.file_dir;
  options.directory_variable = config.prefix + "_FILE_DIR";
  options.signal = signal;
  options.json = plan.file_format == setup::FileFormat::json;
  options.rank = plan.rank.rank;
  options.start_unix_ns = record::ClockSample::now().unix_ns;
  return std::make_unique<exporting::FileExporter>(options, envelope, on_error);
}

std::unique_ptr<exporting::Exporter> make_exporter(Signal signal, const setup::Plan& plan, const Config& config,
                                                   const otlp::Envelope& envelope,
                                                   const exporting::ErrorSink& on_error) {
  switch (plan.exporter) {
    case setup::Exporter::console:
      return std::make_unique<exporting::ConsoleExporter>(STDOUT_FILENO, signal, envelope, on_error);
    case setup::Exporter::file: return make_file_exporter(signal, plan, config, envelope, on_error);
    case setup::Exporter::none: return std::make_unique<NoExporter>();
    case setup::Exporter::otlp: return make_otlp_exporter(signal, plan, config, envelope, on_error);
  }
  return nullptr;
}

otlp::Limits limits_of(const SpanLimits& limits) noexcept {
  return {limits.attributes,       limits.events,          limits.links,
          limits.event_attributes, limits.link_attributes, limits.value_length};
}

}  // namespace

Session::Session(const setup::Plan& plan, const Config& config) : plan_(plan), config_(config) {
  const auto announce = telemetry::announcing(config_.on_error);
  for (const std::string& warning : plan_.warnings) announce(warning);
  if (!plan_.records_spans) return;  // spans are all that there is to record so far
  start();
  detail::GroupRegistry::instance().open(plan_.groups, config_.sample_every_n_steps > 1);
}

void Session::restart_in_child() noexcept {
  if (pipeline_ || shut_down_.load()) return;
  try {
    for (auto& [key, value] : plan_.resource)
      if (key == "process.pid") value = std::int64_t(getpid());
    start();
  } catch (const std::exception& error) {
    // Not a child's to throw: it records nothing.
    record::Recorder::instance().stop();
    detail::GroupRegistry::instance().close();
    if (config_.on_error) config_.on_error(std::string("a forked process records nothing: ") + error.what());
  }
}

void Session::start() {
  const auto on_error = telemetry::rate_limited(config_.on_error);
  const otlp::Envelope envelope(plan_.resource, "lens", version);
  record::RecorderOptions recording;
  auto exporter = make_exporter(Signal::traces, plan_, config_, envelope, on_error);
  telemetry::Pipeline::Options options;
  if (config_.metrics_enabled && plan_.exporter != setup::Exporter::none) {
    options.metrics = std::make_unique<exporting::MetricReader>(
        config_.standard.metric_export_interval, make_exporter(Signal::metrics, plan_, config_, envelope, on_error));
  }
  recording.trace_file = std::filesystem::path(exporter->path()).filename();
  recording.run_id = plan_.run_id;
  recording.rank = plan_.rank.rank;
  recording.world_size = plan_.rank.world_size;
  recording.local_rank = plan_.rank.local_rank;
  recording.shm_dir = config_.shm_dir;
  recording.resource = envelope.resource();
  recording.scope = envelope.scope();
  for (const std::string& key : config_.redacted_keys) recording.redacted_keys += key + '\n';
  recording.trace_directory = std::filesystem::absolute(plan_.file_dir);
  recording.started_in = config_.started_in.context;
  recording.sampler = plan_.sampler;
  recording.sample_every_n_steps = config_.sample_every_n_steps;
  std::string problem;
  if (!record::Recorder::instance().start(recording, problem)) throw std::runtime_error(problem);
  const auto announce = telemetry::announcing(config_.on_error);
  if (!problem.empty()) announce("rings are in private memory, unseen by other programs: " + problem);

  options.schedule_delay = config_.standard.span_batch.schedule_delay;
  options.max_batch_spans = config_.standard.span_batch.max_export_batch_size;
  options.limits = limits_of(config_.standard.span_limits);
  options.started_in = config_.started_in.context;
  options.sampler = plan_.sampler;
  options.redacted_keys = config_.redacted_keys;
  pipeline_ = std::make_unique<telemetry::Pipeline>(std::move(options), std::move(exporter), on_error, announce);
}

bool Session::flush(std::chrono::milliseconds timeout) noexcept {
  if (!pipeline_ || shut_down_.load()) return true;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const std::uint64_t number = pipeline_->request_flush();
  while (!pipeline_->flushed(number)) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

void Session::shutdown(std::chrono::milliseconds timeout) noexcept {
  if (!plan_.exports || shut_down_.exchange(true)) return;
  if (timeout <= std::chrono::milliseconds::zero()) timeout = config_.shutdown_timeout;
  detail::GroupRegistry::instance().close();
  record::Recorder::instance().stop();
  if (!pipeline_) return;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const bool stopped = pipeline_->stop(deadline);
  final_counters_ = counters();
  if (stopped) {
    record::Recorder::instance().close_file();
  } else {
    // Stuck in its destination: it keeps what it works on, and what it did not send stays in the file of rings.
    static_cast<void>(pipeline_.release());
  }
}

TelemetryCounters Session::counters() const noexcept {
  if (final_counters_) return *final_counters_;
  if (!pipeline_) return {};
  const record::Counters& counters = record::Recorder::instance().counters();
  return {counters.spans_recorded, counters.spans_exported, counters.spans_dropped, counters.spans_truncated,
          counters.spans_sampled_out};
}

}  // namespace lens
