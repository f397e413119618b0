// SPDX-License-Identifier: Apache-2.0
#include "src/telemetry/session.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>

#include "lens/time_limit.h"
#include "lens/version.h"
#include "src/base/text.h"
#include "src/base/unshared.h"
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
  options.export_timeout = plan.span_batch.export_timeout;
  options.most_queued_spans = plan.span_batch.max_queue_size;
  options.most_batches = record::batch_count - 1;  // the other one is being filled
  return options;
}

/// Of two limits, where 0 is none.
std::chrono::milliseconds shorter(std::chrono::milliseconds one, std::chrono::milliseconds other) {
  if (one.count() <= 0) return other;
  return other.count() <= 0 ? one : std::min(one, other);
}

exporting::OtlpExporterOptions options_of_metrics(const Config& config) {
  exporting::OtlpExporterOptions options;
  options.signal = Signal::metrics;
  options.otlp = config.standard.otlp_metrics;
  options.otlp.timeout = shorter(options.otlp.timeout, config.standard.metric_export_timeout);
  options.one_attempt = true;
  return options;
}

exporting::OtlpExporterOptions options_of_logs(const setup::Plan& plan, const Config& config) {
  exporting::OtlpExporterOptions options;
  options.signal = Signal::logs;
  options.otlp = config.standard.otlp_logs;
  options.export_timeout = plan.log_batch.export_timeout;
  options.most_queued_spans = plan.log_batch.max_queue_size;
  options.most_batches = record::batch_count - 1;
  return options;
}

exporting::OtlpExporterOptions options_of(Signal signal, const setup::Plan& plan, const Config& config) {
  switch (signal) {
    case Signal::traces: return options_of_spans(plan, config);
    case Signal::metrics: return options_of_metrics(config);
    case Signal::logs: return options_of_logs(plan, config);
  }
  return {};
}

/// What all exporters of a process are made of.
struct Common {
  const setup::Plan& plan;
  const Config& config;
  otlp::Envelope envelope;
  exporting::ErrorSink on_error;
  std::shared_ptr<exporting::Spool> spool;
  std::shared_ptr<exporting::FailureNews> news = std::make_shared<exporting::FailureNews>();
};

std::unique_ptr<exporting::Exporter> make_otlp_exporter(Signal signal, const Common& common) {
  const auto& [plan, config, envelope, on_error, spool, news] = common;
  const auto announce = telemetry::announcing(config.on_error);
  exporting::OtlpExporterOptions options = options_of(signal, plan, config);
  // A later request of metrics says all that an earlier one did.
  if (signal != Signal::metrics) options.spool = spool;
  options.news = news;
  // The ranks of a job start in one moment: their jitter must differ all the same.
  options.jitter_seed = std::hash<std::string>()(plan.instance_id) ^ std::uint64_t(getpid());
  try {
    return std::make_unique<exporting::OtlpExporter>(options, envelope, on_error, announce);
  } catch (const std::invalid_argument& malformed) {
    // A malformed standard variable does not stop the job.
    const bool is_said = signal != Signal::traces && options.otlp.endpoint == config.standard.otlp_traces.endpoint;
    if (!is_said) announce(std::string(malformed.what()) + "; the default is used");
    options.otlp.endpoint.clear();
    return std::make_unique<exporting::OtlpExporter>(options, envelope, on_error, announce);
  }
}

std::unique_ptr<exporting::Exporter> make_file_exporter(Signal signal, const Common& common) {
  const auto& [plan, config, envelope, on_error, spool, news] = common;
  exporting::FileExporterOptions options;
  options.directory = plan.file_dir;
  options.directory_variable = config.prefix + "_FILE_DIR";
  options.signal = signal;
  options.json = plan.file_format == setup::FileFormat::json;
  options.most_bytes = config.file_max_size_bytes;
  options.rank = plan.rank.rank;
  options.start_unix_ns = record::ClockSample::now().unix_ns;
  return std::make_unique<exporting::FileExporter>(options, envelope, on_error);
}

std::unique_ptr<exporting::Exporter> make_exporter(Signal signal, const Common& common) {
  switch (common.plan.exporter) {
    case setup::Exporter::console:
      return std::make_unique<exporting::ConsoleExporter>(STDOUT_FILENO, signal, common.envelope, common.on_error);
    case setup::Exporter::file: return make_file_exporter(signal, common);
    case setup::Exporter::none: return std::make_unique<NoExporter>();
    case setup::Exporter::otlp: return make_otlp_exporter(signal, common);
  }
  return nullptr;
}

otlp::Limits limits_of(const SpanLimits& limits) noexcept {
  return {limits.attributes,       limits.events,          limits.links,
          limits.event_attributes, limits.link_attributes, limits.value_length};
}

telemetry::LogProcessor::Options log_options_of(const setup::Plan& plan, const Config& config) {
  otlp::Limits limits;
  limits.attributes = config.standard.log_limits.attributes;
  limits.value_characters = config.standard.log_limits.value_length;
  return {plan.log_batch, limits, config.redacted_keys};
}

// Of a session whose shutdown was not over in time. One at most: until it stops, no other session records.
constinit std::atomic<telemetry::Pipeline*> stuck{nullptr};

bool is_still_stuck() noexcept {
  telemetry::Pipeline* const pipeline = stuck.load(std::memory_order_acquire);
  if (pipeline == nullptr) return false;
  if (!pipeline->has_stopped()) return true;
  if (stuck.exchange(nullptr, std::memory_order_acq_rel) == pipeline) delete pipeline;
  return false;
}

/// Takes the longest attributes out, of equal ones the earlier, until those that stay fit; returns the keys.
template <class Fits>
std::vector<std::string> take_longest_out(ResourceAttributes& attributes, const Fits& fits) {
  struct Part {
    std::size_t index, bytes;
  };
  std::vector<Part> parts;
  std::size_t bytes = 0;
  for (const auto& attribute : attributes) {
    parts.push_back({parts.size(), otlp::attribute_bytes(attribute)});
    bytes += parts.back().bytes;
  }
  std::ranges::stable_sort(parts, std::greater(), &Part::bytes);
  auto kept = parts.begin();
  std::vector<std::string> taken;
  for (; !fits(bytes); bytes -= kept++->bytes) taken.push_back(attributes[kept->index].first);
  std::ranges::sort(kept, parts.end(), {}, &Part::index);
  ResourceAttributes left;
  for (; kept != parts.end(); ++kept) left.push_back(std::move(attributes[kept->index]));
  attributes = std::move(left);
  return taken;
}

/// The first few, and how many more there are.
std::string first_of(const std::vector<std::string>& keys) {
  constexpr std::size_t few = 5;
  const std::string text = base::join(std::span(keys).first(std::min(keys.size(), few)), ", ");
  return keys.size() <= few ? text : text + " and " + base::counted(keys.size() - few, "more attribute");
}

/// As it is where that cannot be told: whoever uses it says what is wrong.
std::string absolute(const std::string& path) {
  std::error_code unknown;
  const std::string absolute = std::filesystem::absolute(path, unknown);
  return unknown ? path : absolute;
}

}  // namespace

Session::Session(const setup::Plan& plan, const Config& config) : plan_(plan), config_(config) {
  // The program may change its directory, and fork, while the session lasts.
  for (std::string* directory : {&plan_.file_dir, &plan_.spool_dir, &config_.shm_dir})
    if (!directory->empty()) *directory = absolute(*directory);
  const auto announce = telemetry::announcing(config_.on_error);
  telemetry::tell_warnings(plan_.warnings, config_.on_error, plan_.rank.rank);
  if (!plan_.records_spans && !plan_.records_logs) return;
  if (is_still_stuck()) {
    plan_.exports = plan_.records_spans = plan_.records_logs = false;
    announce(
        "nothing is recorded: the exporter of the telemetry that was shut down before is still stuck, and what is "
        "recorded now would be taken for its own");
    return;
  }
  try {
    start();
  } catch (...) {
    record::Recorder::instance().stop();
    record::Recorder::instance().close_file();
    throw;
  }
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
  const exporting::SpoolOptions spool{plan_.spool_dir, config_.spool_size_bytes, plan_.run_id};
  const Common common{plan_, config_, envelope, on_error, std::make_shared<exporting::Spool>(spool, on_error)};
  record::RecorderOptions recording;
  auto exporter = plan_.records_spans ? make_exporter(Signal::traces, common) : std::make_unique<NoExporter>();
  telemetry::Pipeline::Options options;
  if (config_.metrics_enabled && plan_.exporter != setup::Exporter::none) {
    options.metrics = std::make_unique<exporting::MetricReader>(config_.standard.metric_export_interval,
                                                                make_exporter(Signal::metrics, common));
  }
  auto logs = plan_.records_logs ? make_exporter(Signal::logs, common) : nullptr;
  recording.spans = plan_.records_spans;
  recording.logs = plan_.records_logs;
  recording.trace_file = std::filesystem::path(exporter->path()).filename();
  recording.run_id = plan_.run_id;
  recording.rank = plan_.rank.rank;
  recording.world_size = plan_.rank.world_size;
  recording.local_rank = plan_.rank.local_rank;
  recording.shm_dir = config_.shm_dir;
  recording.resource = envelope.resource();
  recording.scope = envelope.scope();
  recording.redacted_keys = config_.redacted_keys.empty() ? "\n" : "";
  for (const std::string& key : config_.redacted_keys) recording.redacted_keys += key + '\n';
  const std::string left_out = fit_resource(recording);
  recording.trace_directory = plan_.file_dir;
  recording.started_in = config_.started_in.context;
  recording.sampler = plan_.sampler;
  recording.span_limits = config_.standard.span_limits;
  recording.log_limits = config_.standard.log_limits;
  recording.sample_every_n_steps = config_.sample_every_n_steps;
  std::string problem;
  if (!record::Recorder::instance().start(recording, problem)) throw std::runtime_error(problem);
  const auto announce = telemetry::announcing(config_.on_error);
  if (!left_out.empty())
    announce(
        "the resource is longer than what is kept for recovery: spans of this process that `lens recover` writes "
        "will lack " +
        left_out);
  if (!problem.empty()) announce("rings are in private memory, unseen by other programs: " + problem);

  if (logs) options.logs = std::make_unique<telemetry::LogProcessor>(log_options_of(plan_, config_), std::move(logs));
  options.schedule_delay = plan_.span_batch.schedule_delay;
  options.max_batch_spans = plan_.span_batch.max_export_batch_size;
  options.limits = limits_of(config_.standard.span_limits);
  options.started_in = config_.started_in.context;
  options.sampler = plan_.sampler;
  options.redacted_keys = config_.redacted_keys;
  options.vocabulary = config_.vocabulary;
  pipeline_ = std::make_unique<telemetry::Pipeline>(std::move(options), std::move(exporter), on_error, announce);
}

/// Leaves the resource's longest attributes out where it is too long beside the other parts of the envelope: these.
std::string Session::fit_resource(record::RecorderOptions& recording) const {
  constexpr std::size_t room = record::RingFile::envelope_room;
  const std::size_t others = recording.scope.size() + recording.redacted_keys.size();
  const auto fits = [others](std::size_t bytes) { return otlp::resource_bytes(bytes) + others <= room; };
  if (!fits(0))
    throw std::runtime_error("REDACTED_KEYS is longer than the " + std::to_string(room) +
                             " bytes that are kept for recovery: name fewer keys");
  if (recording.resource.size() + others <= room) return {};
  ResourceAttributes resource = plan_.resource;
  const std::vector<std::string> left_out = take_longest_out(resource, fits);
  recording.resource = otlp::Envelope(resource, "lens", version).resource();
  return first_of(left_out);
}

void Session::forget_pipeline() noexcept {
  static_cast<void>(pipeline_.release());
  base::close_unshared();
  stuck.store(nullptr, std::memory_order_relaxed);
}

bool Session::flush(std::chrono::milliseconds timeout) noexcept {
  if (!pipeline_ || shut_down_.load()) return true;
  const auto deadline = std::chrono::steady_clock::now() + detail::bounded(timeout);
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
  const auto deadline = std::chrono::steady_clock::now() + detail::bounded(timeout);
  const bool stopped = pipeline_->stop(deadline);
  final_counters_ = counters();
  if (stopped) {
    record::Recorder::instance().close_file();
  } else {
    // What found its ring full since the pipeline counted last.
    record::Recorder& recorder = record::Recorder::instance();
    const std::uint64_t counted = recorder.counters().ring_drops.load(std::memory_order_relaxed);
    final_counters_->spans_dropped += recorder.dropped() - counted;
    // Stuck in its destination: it keeps what it works on, and what it did not send stays in the file of rings.
    stuck.store(pipeline_.release(), std::memory_order_release);
    say_unfinished(timeout);
  }
}

void Session::say_unfinished(std::chrono::milliseconds timeout) const noexcept try {
  const auto& [recorded, exported, dropped, truncated, sampled_out] = *final_counters_;
  const std::uint64_t settled = exported + dropped + sampled_out;
  std::string line = "shutdown was not over after " + std::to_string(timeout.count()) + " ms: what is not exported, " +
                     base::counted(recorded > settled ? recorded - settled : 0, "span") + " or more, ";
  if (dropped > 0) line.insert(0, base::counted(dropped, "span") + " lost; ");
  const std::string& path = record::Recorder::instance().file()->path();
  line += path.empty()
              ? "is lost with the process's private memory"
              : "stays in " + path + ": once the process has ended, `lens recover " + plan_.run_id + "` takes it out";
  telemetry::announcing(config_.on_error)(line);
} catch (const std::bad_alloc&) {
  // There is no memory to say it.
}

TelemetryCounters Session::counters() const noexcept {
  if (final_counters_) return *final_counters_;
  if (!pipeline_) return {};
  const record::Counters& counters = record::Recorder::instance().counters();
  return {counters.spans_recorded, counters.spans_exported, counters.spans_dropped, counters.spans_truncated,
          counters.spans_sampled_out};
}

}  // namespace lens
