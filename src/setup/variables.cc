// SPDX-License-Identifier: Apache-2.0
// The table of every variable. docs/configuration.md is printed from it, in this order.
#include <algorithm>
#include <limits>

#include "src/base/text.h"
#include "src/setup/environment.h"

namespace lens::setup {
namespace {

using std::chrono::milliseconds;

void read(const Setting& setting, bool& field) { field = boolean(setting); }
void read(const Setting& setting, double& field) { field = ratio(setting); }
void read(const Setting& setting, std::string& field) { field = setting.value; }
void read(const Setting& setting, std::size_t& field) { field = count(setting); }
void read(const Setting& setting, milliseconds& field) { field = duration(setting); }

/// Reads into a field of Config: set<&Config::enabled>, set<&Config::standard, &StandardConfig::span_limits, …>.
template <auto... path>
void set(Config& config, const Setting& setting) {
  read(setting, (config.*....*path));
}

template <auto field>
void set_otlp(OtlpConfig& otlp, const Setting& setting) {
  read(setting, otlp.*field);
}

template <auto field>
void set_limit(Config& config, const Setting& setting) {
  read(setting, config.standard.span_limits.*field);
}

template <auto batch, auto field>
void set_batch(Config& config, const Setting& setting) {
  read(setting, config.standard.*batch.*field);
}

template <auto batch, auto field>
void set_batch_size(Config& config, const Setting& setting) {
  config.standard.*batch.*field = count(setting, 1);
}

void set_sampler_enabled(Config& config, const Setting& setting) {
  if (setting.name.ends_with("SAMPLING_STRATEGY")) {
    config.sampler_enabled = choice(setting, {"rank_aware", "none"}) == "rank_aware";
  } else {
    config.sampler_enabled = boolean(setting);
  }
}

void set_sdk_disabled(Config& config, const Setting& setting) {
  config.standard.sdk_disabled = choice(setting, {"true", "false"}) == "true";
}

void set_resource_attributes(Config& config, const Setting& setting) {
  const auto attributes = pairs(setting);
  config.standard.resource_attributes.assign(attributes.begin(), attributes.end());
}

void set_sampler(Config& config, const Setting& setting) {
  config.standard.traces_sampler = choice(setting, {"always_on", "always_off", "traceidratio", "parentbased_always_on",
                                                    "parentbased_always_off", "parentbased_traceidratio"});
}

void set_propagators(Config& config, const Setting& setting) {
  std::vector<std::string> propagators;
  for (std::string_view item : base::split(setting.value, ',')) {
    const Setting word{setting.name, std::string{base::trim(item)}};
    if (word.value.empty()) continue;
    const std::string name = choice(word, {"tracecontext", "baggage", "none"});
    if (name == "none")
      propagators.clear();
    else if (std::find(propagators.begin(), propagators.end(), name) == propagators.end())
      propagators.push_back(name);
  }
  config.standard.propagators = propagators;
}

void set_protocol(OtlpConfig& otlp, const Setting& setting) {
  const std::string word = choice(setting, {"grpc", "http/protobuf", "http/json"});
  otlp.protocol = word == "grpc"            ? OtlpProtocol::grpc
                  : word == "http/protobuf" ? OtlpProtocol::http_protobuf
                                            : OtlpProtocol::http_json;
}

// The protocol stands before it in the table.
void set_compression(OtlpConfig& otlp, const Setting& setting) {
  const std::string word = choice(setting, {"gzip", "zstd", "none"});
  if (word == "zstd" && otlp.protocol == OtlpProtocol::grpc) reject(setting, "for grpc: gzip or none");
  otlp.compression = word == "gzip"   ? OtlpCompression::gzip
                     : word == "zstd" ? OtlpCompression::zstd
                                      : OtlpCompression::none;
}

constexpr auto prefixed = Family::prefixed;
constexpr auto standard = Family::standard;
constexpr auto otlp = Family::otlp;
constexpr auto detected = Family::detected;

// clang-format off: one variable, one line or two
const Variable table[] = {
    {prefixed, "ENABLED", "", "boolean", "0", "Nothing happens unless true.", set<&Config::enabled>},
    {prefixed, "SPAN_GROUPS", "", "spec", "default", "Which spans are recorded: a comma list of presets and groups.",
     set<&Config::span_groups>},
    {prefixed, "EXPORT_STRATEGY", "RANK_STRATEGY", "name", "single_rank",
     "Which ranks export: single_rank, all_ranks, sampled, first_rank_per_node, or one that the program registered.",
     set<&Config::export_strategy>},
    {prefixed, "EXPORT_RANK", "", "integer", "-1", "The rank of single_rank; negative: the last one.",
     [](Config& c, const Setting& s) { c.export_rank = integer(s, std::numeric_limits<int>::min()); }},
    {prefixed, "EXPORT_SAMPLE_RATE", "", "0 … 1", "1.0",
     "The share of ranks that `sampled` chooses, and the rank-aware sampler keeps.", set<&Config::export_sample_rate>},
    {prefixed, "SAMPLER_ENABLED", "SAMPLING_STRATEGY", "boolean", "0",
     "Rank-aware sampler, beside OTEL_TRACES_SAMPLER: both must say yes. SAMPLING_STRATEGY=rank_aware says the same.",
     set_sampler_enabled},
    {prefixed, "SAMPLE_EVERY_N_STEPS", "", "integer", "1",
     "Keeps every Nth iteration whole, the same ones on every rank.",
     [](Config& c, const Setting& s) { c.sample_every_n_steps = integer(s, 1); }},
    {prefixed, "TRACES_ENABLED", "", "boolean", "1", "Spans.", set<&Config::traces_enabled>},
    {prefixed, "METRICS_ENABLED", "", "boolean", "1", "Metrics.", set<&Config::metrics_enabled>},
    {prefixed, "LOGS_ENABLED", "", "boolean", "0", "Log records.", set<&Config::logs_enabled>},
    {prefixed, "EXPORTER", "", "name", "otlp", "Where it goes: otlp, console, file, none.", set<&Config::exporter>},
    {prefixed, "FILE_DIR", "", "path", "lens/{run id}", "Where the file exporter writes; created.",
     set<&Config::file_dir>},
    {prefixed, "FILE_FORMAT", "", "name", "proto",
     "proto (length-prefixed OTLP protobuf, zstd) or json (one OTLP/JSON request a line).", set<&Config::file_format>},
    {prefixed, "SPOOL_DIR", "", "path", "~/.local/state/lens/spool", "Holds what could not be sent.",
     set<&Config::spool_dir>},
    {prefixed, "SPOOL_SIZE", "", "size", "512MiB", "How much the spool holds; 0 turns it off.",
     [](Config& c, const Setting& s) { c.spool_size_bytes = size_bytes(s); }},
    {prefixed, "SHM_DIR", "", "path", "/dev/shm/lens-{user id}",
     "Where the rings live, readable from outside; set to nothing: private memory.", set<&Config::shm_dir>, nullptr,
     true},
    {prefixed, "RUN_ID", "", "text", "derived from the launcher",
     "Names the run, in at most 127 bytes; the same on all its ranks.", set<&Config::run_id>},
    {prefixed, "USER_ID", "", "text", "", "Resource attribute `nemo.user.id`.", set<&Config::user_id>},

    {standard, "OTEL_SERVICE_NAME", "", "text", "nemo", "Resource attribute `service.name`.",
     set<&Config::service_name>},
    {standard, "WANDB_ENTITY", "", "text", "", "Resource attribute `wandb.entity`.", set<&Config::wandb_entity>},
    {standard, "WANDB_PROJECT", "", "text", "", "Resource attribute `wandb.project`.", set<&Config::wandb_project>},
    {standard, "DEPLOYMENT_ENV", "ENVIRONMENT", "text", "", "Resource attribute `deployment.environment`.",
     set<&Config::deployment_environment>},
    {standard, "OTEL_SDK_DISABLED", "", "true, false", "false", "`true` turns telemetry off.", set_sdk_disabled},
    {standard, "OTEL_RESOURCE_ATTRIBUTES", "", "key=value,…", "", "Resource attributes, percent-encoded.",
     set_resource_attributes},
    {standard, "OTEL_TRACES_SAMPLER", "", "name", "parentbased_always_on",
     "always_on, always_off, traceidratio, or one of these after parentbased_.", set_sampler},
    {standard, "OTEL_TRACES_SAMPLER_ARG", "", "0 … 1", "1.0", "The ratio of traceidratio.",
     set<&Config::standard, &StandardConfig::traces_sampler_ratio>},
    {standard, "OTEL_PROPAGATORS", "", "names", "tracecontext,baggage", "tracecontext, baggage, none.",
     set_propagators},
    {standard, "OTEL_BSP_SCHEDULE_DELAY", "", "ms", "5000", "Spans wait this long at most before they are sent.",
     set_batch<&StandardConfig::span_batch, &BatchConfig::schedule_delay>},
    {standard, "OTEL_BSP_EXPORT_TIMEOUT", "", "ms", "30000", "Bounds one export of spans.",
     set_batch<&StandardConfig::span_batch, &BatchConfig::export_timeout>},
    {standard, "OTEL_BSP_MAX_QUEUE_SIZE", "", "count", "bounded by memory", "Spans that may wait.",
     set_batch_size<&StandardConfig::span_batch, &BatchConfig::max_queue_size>},
    {standard, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "", "count", "bounded by memory", "Spans in one request.",
     set_batch_size<&StandardConfig::span_batch, &BatchConfig::max_export_batch_size>},
    {standard, "OTEL_BLRP_SCHEDULE_DELAY", "", "ms", "1000", "The same for log records.",
     set_batch<&StandardConfig::log_batch, &BatchConfig::schedule_delay>},
    {standard, "OTEL_BLRP_EXPORT_TIMEOUT", "", "ms", "30000", "",
     set_batch<&StandardConfig::log_batch, &BatchConfig::export_timeout>},
    {standard, "OTEL_BLRP_MAX_QUEUE_SIZE", "", "count", "bounded by memory", "",
     set_batch_size<&StandardConfig::log_batch, &BatchConfig::max_queue_size>},
    {standard, "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "", "count", "bounded by memory", "",
     set_batch_size<&StandardConfig::log_batch, &BatchConfig::max_export_batch_size>},
    {standard, "OTEL_METRIC_EXPORT_INTERVAL", "", "ms", "10000", "Metrics are sent this often.",
     [](Config& c, const Setting& s) { c.standard.metric_export_interval = duration(s, milliseconds{1}); }},
    {standard, "OTEL_METRIC_EXPORT_TIMEOUT", "", "ms", "30000", "Bounds one export of metrics.",
     set<&Config::standard, &StandardConfig::metric_export_timeout>},
    // The general limits stand before those of spans, which win.
    {standard, "OTEL_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of anything.",
     set_limit<&SpanLimits::attributes>},
    {standard, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "", "count", "none", "Characters of a value of anything.",
     set_limit<&SpanLimits::value_length>},
    {standard, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of a span.",
     set_limit<&SpanLimits::attributes>},
    {standard, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "", "count", "none", "Characters of a value of a span.",
     set_limit<&SpanLimits::value_length>},
    {standard, "OTEL_SPAN_EVENT_COUNT_LIMIT", "", "count", "128", "Events of a span.", set_limit<&SpanLimits::events>},
    {standard, "OTEL_SPAN_LINK_COUNT_LIMIT", "", "count", "128", "Links of a span.", set_limit<&SpanLimits::links>},
    {standard, "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of an event.",
     set_limit<&SpanLimits::event_attributes>},
    {standard, "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of a link.",
     set_limit<&SpanLimits::link_attributes>},

    {otlp, "ENDPOINT", "", "URL", "localhost, port 4317 (grpc) or 4318 (http)",
     "The collector. With http, /v1/{signal} is appended, but not to the URL of one signal.", nullptr,
     set_otlp<&OtlpConfig::endpoint>},
    {otlp, "PROTOCOL", "", "name", "grpc", "grpc, http/protobuf, http/json.", nullptr, set_protocol},
    {otlp, "HEADERS", "", "key=value,…", "", "Sent with each request, percent-encoded.", nullptr,
     [](OtlpConfig& o, const Setting& s) { o.headers = pairs(s); }},
    {otlp, "TIMEOUT", "", "ms", "10000", "Bounds one request.", nullptr, set_otlp<&OtlpConfig::timeout>},
    {otlp, "COMPRESSION", "", "name", "none", "gzip or none; with http also zstd, which not every receiver takes.",
     nullptr, set_compression},
    {otlp, "INSECURE", "", "true, false", "false", "grpc without TLS, for an endpoint that has no scheme.", nullptr,
     [](OtlpConfig& o, const Setting& s) {
       o.insecure = choice(s, {"true", "false"}) == "true";
     }},
    {otlp, "CERTIFICATE", "", "path", "the system's",
     "Authorities that the collector's certificate is checked by (PEM).", nullptr, set_otlp<&OtlpConfig::certificate>},
    {otlp, "CLIENT_KEY", "", "path", "", "This side's key (PEM).", nullptr, set_otlp<&OtlpConfig::client_key>},
    {otlp, "CLIENT_CERTIFICATE", "", "path", "", "This side's certificate (PEM).", nullptr,
     set_otlp<&OtlpConfig::client_certificate>},

    {detected, "RANK", "", "integer", "0", "Rank, as torchrun says it."},
    {detected, "WORLD_SIZE", "", "integer", "1", "World size, torchrun."},
    {detected, "LOCAL_RANK", "", "integer", "0", "Rank on this node, torchrun."},
    {detected, "LOCAL_WORLD_SIZE", "", "integer", "", "Ranks on this node, torchrun."},
    {detected, "OMPI_COMM_WORLD_RANK", "", "integer", "", "Rank, Open MPI."},
    {detected, "OMPI_COMM_WORLD_SIZE", "", "integer", "", "World size, Open MPI."},
    {detected, "OMPI_COMM_WORLD_LOCAL_RANK", "", "integer", "", "Rank on this node, Open MPI."},
    {detected, "OMPI_COMM_WORLD_LOCAL_SIZE", "", "integer", "", "Ranks on this node, Open MPI."},
    {detected, "PMI_RANK", "", "integer", "", "Rank, MPICH."},
    {detected, "PMI_SIZE", "", "integer", "", "World size, MPICH."},
    {detected, "MPI_LOCALRANKID", "", "integer", "", "Rank on this node, MPICH."},
    {detected, "MPI_LOCALNRANKS", "", "integer", "", "Ranks on this node, MPICH."},
    {detected, "SLURM_PROCID", "", "integer", "", "Rank, Slurm."},
    {detected, "SLURM_NTASKS", "", "integer", "", "World size, Slurm; resource attribute `slurm.ntasks`."},
    {detected, "SLURM_LOCALID", "", "integer", "", "Rank on this node, Slurm."},
    {detected, "MASTER_ADDR", "", "text", "", "Rendezvous; the run id of last resort."},
    {detected, "MASTER_PORT", "", "integer", "", "Rendezvous; the run id of last resort."},
    {detected, "TORCHELASTIC_RUN_ID", "", "text", "", "Run id, unless `none`."},
    {detected, "TORCHELASTIC_RESTART_COUNT", "", "integer", "", "Added to the run id when not 0."},
    {detected, "SLURM_JOB_ID", "", "text", "", "Run id; resource attribute `slurm.job.id`."},
    {detected, "SLURM_STEP_ID", "", "text", "", "Added to the run id."},
    {detected, "SLURM_ARRAY_TASK_ID", "", "text", "", "Added to the run id."},
    {detected, "SLURM_RESTART_COUNT", "", "integer", "", "Added to the run id when not 0."},
    {detected, "SLURM_JOB_NAME", "", "text", "", "Resource attribute `slurm.job.name`."},
    {detected, "SLURM_JOB_NODELIST", "SLURM_NODELIST", "text", "", "Resource attribute `slurm.nodelist`."},
    {detected, "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "integer", "", "Resource attribute `slurm.nnodes`."},
    {detected, "SLURM_JOB_PARTITION", "", "text", "", "Resource attribute `slurm.partition`."},
    {detected, "SLURM_CLUSTER_NAME", "", "text", "", "Resource attribute `slurm.cluster.name`."},
    {detected, "XDG_STATE_HOME", "", "path", "~/.local/state", "The user's state directory, which holds lens/spool."},
    {detected, "HOME", "", "path", "",
     "The user's directory; without it there is no spool unless SPOOL_DIR names one."},
    {detected, "CUDA_VISIBLE_DEVICES", "", "list", "",
     "Resource attribute `host.gpu.count`; unset: the driver's files say it.", nullptr, nullptr, true},
    {detected, "KUBERNETES_SERVICE_HOST", "", "text", "",
     "Says that this is a pod, as a pod's name does; else the next are not read."},
    {detected, "K8S_NAMESPACE_NAME", "K8S_NAMESPACE,POD_NAMESPACE", "text", "",
     "Resource attribute `k8s.namespace.name`."},
    {detected, "K8S_POD_NAME", "POD_NAME", "text", "", "Resource attribute `k8s.pod.name`."},
    {detected, "K8S_POD_UID", "POD_UID", "text", "", "Resource attribute `k8s.pod.uid`."},
    {detected, "K8S_NODE_NAME", "NODE_NAME", "text", "", "Resource attribute `k8s.node.name`."},
    {detected, "K8S_CONTAINER_NAME", "CONTAINER_NAME", "text", "", "Resource attribute `k8s.container.name`."},
    {detected, "K8S_JOB_NAME", "JOB_NAME", "text", "", "Resource attribute `k8s.job.name`."},
};
// clang-format on

}  // namespace

std::span<const Variable> variables() { return table; }

}  // namespace lens::setup
