// SPDX-License-Identifier: Apache-2.0
// The table of every variable. docs/configuration.md is printed from it, in this order.
#include <algorithm>
#include <limits>

#include "src/base/text.h"
#include "src/setup/environment.h"

namespace lens::setup {
namespace {

using std::chrono::milliseconds;

template <auto... path>
constexpr Binding<Config> field = bound<Config, path...>;
template <auto limit>
constexpr Binding<Config> limit_field = field<&Config::standard, &StandardConfig::span_limits, limit>;
template <auto limit>
constexpr Binding<Config> log_limit_field = field<&Config::standard, &StandardConfig::log_limits, limit>;
/// What stands before the limits of each signal, which win.
template <auto span_limit, auto log_limit>
constexpr Binding<Config> general_limit_field{[](Config& c, const Setting& s) {
                                                limit_field<span_limit>.apply(c, s);
                                                log_limit_field<log_limit>.apply(c, s);
                                              },
                                              limit_field<span_limit>.text};
template <auto batch, auto part>
constexpr Binding<Config> batch_field = field<&Config::standard, batch, part>;
template <auto part>
constexpr Binding<OtlpConfig> otlp_field = bound<OtlpConfig, part>;

/// 0, for as many as fit, is what an unset variable means.
template <auto batch, auto part>
constexpr Binding<Config> batch_size{
    [](Config& c, const Setting& s) { c.standard.*batch.*part = count(s, 1); },
    [](const Config& c) { return c.standard.*batch.*part == 0 ? std::string{} : text_of(c.standard.*batch.*part); }};

/// A comma says a spec of no groups, as an empty value would be an unset variable.
constexpr Binding<Config> span_groups{
    [](Config& c, const Setting& s) {
      c.span_groups = s.value.find_first_not_of(", \t") == std::string::npos ? "" : s.value;
    },
    [](const Config& c) { return c.span_groups.empty() ? std::string(",") : c.span_groups; }};

constexpr Binding<Config> sampler_enabled{[](Config& c, const Setting& s) {
                                            c.sampler_enabled = s.name.ends_with("SAMPLING_STRATEGY")
                                                                    ? choice(s, {"rank_aware", "none"}) == "rank_aware"
                                                                    : boolean(s);
                                          },
                                          [](const Config& c) { return text_of(c.sampler_enabled); }};

/// ENVIRONMENT=BATCH is what Slurm and other schedulers say in every batch job.
constexpr Binding<Config> deployment_environment{[](Config& c, const Setting& s) {
                                                   if (s.name != "ENVIRONMENT" || s.value != "BATCH")
                                                     c.deployment_environment = s.value;
                                                 },
                                                 [](const Config& c) { return c.deployment_environment; }};

constexpr Binding<Config> sdk_disabled{
    [](Config& c, const Setting& s) {
      c.standard.sdk_disabled = choice(s, {"true", "false"}) == "true";
    },
    [](const Config& c) -> std::string { return c.standard.sdk_disabled ? "true" : "false"; }};

constexpr Binding<Config> resource_attributes{[](Config& c, const Setting& s) {
                                                const auto attributes = pairs(s);
                                                c.standard.resource_attributes.assign(attributes.begin(),
                                                                                      attributes.end());
                                              },
                                              [](const Config& c) { return text_of(c.standard.resource_attributes); }};

constexpr Binding<Config> traces_sampler{[](Config& c, const Setting& s) {
                                           c.standard.traces_sampler = choice(
                                               s, {"always_on", "always_off", "traceidratio", "parentbased_always_on",
                                                   "parentbased_always_off", "parentbased_traceidratio"});
                                         },
                                         [](const Config& c) { return c.standard.traces_sampler; }};

constexpr Binding<Config> propagators{[](Config& c, const Setting& s) {
                                        std::vector<std::string> names;
                                        for (const std::string& word : words(s)) {
                                          const std::string name = choice({s.name, word}, {"tracecontext", "baggage"});
                                          if (std::ranges::find(names, name) == names.end()) names.push_back(name);
                                        }
                                        c.standard.propagators = names;
                                      },
                                      [](const Config& c) { return text_of(c.standard.propagators); }};

template <std::string StandardConfig::*member>
constexpr Binding<Config> exporter{[](Config& c, const Setting& s) {
                                     c.standard.*member = choice(s, {"otlp", "console", "none"});
                                   },
                                   [](const Config& c) { return c.standard.*member; }};

/// A negative one, which only a program can set, is refused at set-up and would be malformed here.
constexpr Binding<Config> shutdown_timeout{field<&Config::shutdown_timeout>.apply, [](const Config& c) {
                                             return text_of(std::max(c.shutdown_timeout, milliseconds{0}));
                                           }};

constexpr Binding<Config> redacted_keys{[](Config& c, const Setting& s) { c.redacted_keys = words(s); },
                                        [](const Config& c) { return text_of(c.redacted_keys); }};

constexpr Binding<OtlpConfig> protocol{[](OtlpConfig& o, const Setting& s) {
                                         const std::string word = choice(s, {"grpc", "http/protobuf", "http/json"});
                                         o.protocol = word == "grpc"            ? OtlpProtocol::grpc
                                                      : word == "http/protobuf" ? OtlpProtocol::http_protobuf
                                                                                : OtlpProtocol::http_json;
                                       },
                                       [](const OtlpConfig& o) -> std::string {
                                         return o.protocol == OtlpProtocol::grpc            ? "grpc"
                                                : o.protocol == OtlpProtocol::http_protobuf ? "http/protobuf"
                                                                                            : "http/json";
                                       }};

// The protocol stands before it in the table.
constexpr Binding<OtlpConfig> compression{
    [](OtlpConfig& o, const Setting& s) {
      const std::string word = choice(s, {"gzip", "zstd", "none"});
      if (word == "zstd" && o.protocol == OtlpProtocol::grpc) reject(s, "for grpc: gzip or none");
      o.compression = word == "gzip"   ? OtlpCompression::gzip
                      : word == "zstd" ? OtlpCompression::zstd
                                       : OtlpCompression::none;
    },
    [](const OtlpConfig& o) -> std::string {
      return o.compression == OtlpCompression::gzip ? "gzip" : o.compression == OtlpCompression::zstd ? "zstd" : "none";
    }};

constexpr Binding<OtlpConfig> insecure{
    [](OtlpConfig& o, const Setting& s) {
      o.insecure = choice(s, {"true", "false"}) == "true";
    },
    [](const OtlpConfig& o) -> std::string { return o.insecure ? "true" : "false"; }};

constexpr auto prefixed = Family::prefixed;
constexpr auto standard = Family::standard;
constexpr auto otlp = Family::otlp;
constexpr auto detected = Family::detected;

// clang-format off: one variable, one line or two
const Variable table[] = {
    {prefixed, "ENABLED", "", "boolean", "0", "Nothing happens unless true.", field<&Config::enabled>},
    {prefixed, "SPAN_GROUPS", "", "spec", "default", "Which spans are recorded: a comma list of presets and groups.",
     span_groups},
    {prefixed, "EXPORT_STRATEGY", "RANK_STRATEGY", "name", "single_rank",
     "Which ranks export: single_rank, all_ranks, sampled, first_rank_per_node, or one that the program registered.",
     field<&Config::export_strategy>},
    {prefixed,
     "EXPORT_RANK",
     "",
     "integer",
     "-1",
     "The rank of single_rank; negative: the last one.",
     {[](Config& c, const Setting& s) { c.export_rank = integer(s, std::numeric_limits<int>::min()); },
      [](const Config& c) { return text_of(c.export_rank); }}},
    {prefixed, "EXPORT_SAMPLE_RATE", "", "0 … 1", "1.0",
     "The share of ranks that `sampled` chooses, and the rank-aware sampler keeps.",
     field<&Config::export_sample_rate>},
    {prefixed, "SAMPLER_ENABLED", "SAMPLING_STRATEGY", "boolean", "0",
     "Rank-aware sampler, beside OTEL_TRACES_SAMPLER: both must say yes. SAMPLING_STRATEGY=rank_aware says the same.",
     sampler_enabled},
    {prefixed,
     "SAMPLE_EVERY_N_STEPS",
     "",
     "integer",
     "1",
     "Keeps every Nth iteration whole, the same ones on every rank.",
     {[](Config& c, const Setting& s) { c.sample_every_n_steps = integer(s, 1); },
      [](const Config& c) { return text_of(c.sample_every_n_steps); }}},
    {prefixed, "TRACES_ENABLED", "", "boolean", "1", "Spans.", field<&Config::traces_enabled>},
    {prefixed, "METRICS_ENABLED", "", "boolean", "1", "Metrics.", field<&Config::metrics_enabled>},
    {prefixed, "LOGS_ENABLED", "", "boolean", "0", "Log records, of `lens::log` and of spdlog.",
     field<&Config::logs_enabled>},
    {prefixed, "EXPORTER", "", "name", "otlp", "Where it goes: otlp, console, file, none.", field<&Config::exporter>},
    {prefixed, "FILE_DIR", "", "path", "lens/{run id}",
     "Where the file exporter writes; created. 1023 bytes at most, with all that is above it.",
     field<&Config::file_dir>},
    {prefixed, "FILE_FORMAT", "", "name", "proto",
     "proto (length-prefixed OTLP protobuf, zstd) or json (one OTLP/JSON request a line).",
     field<&Config::file_format>},
    {prefixed,
     "FILE_MAX_SIZE",
     "",
     "size",
     "0",
     "A file that would grow beyond it is followed by the next one; 0: no limit; less than 1MiB is warned of.",
     {[](Config& c, const Setting& s) { c.file_max_size_bytes = size_bytes(s); },
      [](const Config& c) { return text_of(c.file_max_size_bytes); }}},
    {prefixed, "SPOOL_DIR", "", "path", "~/.local/state/lens/spool", "Holds what could not be sent.",
     field<&Config::spool_dir>},
    {prefixed,
     "SPOOL_SIZE",
     "",
     "size",
     "512MiB",
     "How much the spool holds; 0 turns it off.",
     {[](Config& c, const Setting& s) { c.spool_size_bytes = size_bytes(s); },
      [](const Config& c) { return text_of(c.spool_size_bytes); }}},
    {prefixed,
     "SHM_DIR",
     "",
     "path",
     "/dev/shm/lens-{user id}",
     "Where the rings live, readable from outside; set to nothing: private memory.",
     field<&Config::shm_dir>,
     {},
     true},
    {prefixed, "RUN_ID", "", "text", "derived from the launcher",
     "Names the run, in at most 127 bytes; the same on all its ranks.", field<&Config::run_id>},
    {prefixed, "SHUTDOWN_TIMEOUT", "", "ms", "5000", "Bounds the whole shutdown.", shutdown_timeout},
    {prefixed, "REDACTED_KEYS", "", "names", "prompt,input_text,output_text,text,password,token,secret,key",
     "Text under these attribute keys becomes `[REDACTED]`, as it does where a key ends in `.` or `_` and a listed one "
     "of "
     "password, token, secret, key. none: nothing does.",
     redacted_keys},
    {prefixed, "USER_ID", "", "text", "", "Resource attribute `nemo.user.id`.", field<&Config::user_id>},

    {standard, "OTEL_SERVICE_NAME", "", "text", "nemo", "Resource attribute `service.name`.",
     field<&Config::service_name>},
    {standard, "WANDB_ENTITY", "", "text", "", "Resource attribute `wandb.entity`.", field<&Config::wandb_entity>},
    {standard, "WANDB_PROJECT", "", "text", "", "Resource attribute `wandb.project`.", field<&Config::wandb_project>},
    {standard, "DEPLOYMENT_ENV", "ENVIRONMENT", "text", "",
     "Resource attribute `deployment.environment`; not the BATCH that schedulers write into ENVIRONMENT.",
     deployment_environment},
    {standard, "OTEL_SDK_DISABLED", "", "true, false", "false", "`true` turns telemetry off.", sdk_disabled},
    {standard, "OTEL_RESOURCE_ATTRIBUTES", "", "key=value,…", "", "Resource attributes, percent-encoded.",
     resource_attributes},
    {standard, "OTEL_TRACES_SAMPLER", "", "name", "parentbased_always_on",
     "always_on, always_off, traceidratio, or one of these after parentbased_.", traces_sampler},
    {standard, "OTEL_TRACES_SAMPLER_ARG", "", "0 … 1", "1.0", "The ratio of traceidratio.",
     field<&Config::standard, &StandardConfig::traces_sampler_ratio>},
    {standard, "OTEL_PROPAGATORS", "", "names", "tracecontext,baggage", "tracecontext, baggage, none.", propagators},
    {standard, "OTEL_TRACES_EXPORTER", "", "name", "",
     "otlp, console or none, for all signals; EXPORTER and TRACES_ENABLED win over it.",
     exporter<&StandardConfig::traces_exporter>},
    {standard, "OTEL_METRICS_EXPORTER", "", "name", "",
     "none turns metrics off, unless METRICS_ENABLED is set; else they go where spans go.",
     exporter<&StandardConfig::metrics_exporter>},
    {standard, "OTEL_LOGS_EXPORTER", "", "name", "",
     "none turns log records off, unless LOGS_ENABLED is set; else they go where spans go.",
     exporter<&StandardConfig::logs_exporter>},
    {standard, "OTEL_BSP_SCHEDULE_DELAY", "", "ms", "5000", "Spans wait this long at most before they are sent.",
     batch_field<&StandardConfig::span_batch, &BatchConfig::schedule_delay>},
    {standard, "OTEL_BSP_EXPORT_TIMEOUT", "", "ms", "30000",
     "Without a spool, a batch of spans is tried again for so long; 0: until shutdown.",
     batch_field<&StandardConfig::span_batch, &BatchConfig::export_timeout>},
    {standard, "OTEL_BSP_MAX_QUEUE_SIZE", "", "count", "bounded by memory",
     "Spans that may wait in memory for the collector, beside the batch that grows; further ones go to the spool, or "
     "are "
     "dropped.",
     batch_size<&StandardConfig::span_batch, &BatchConfig::max_queue_size>},
    {standard, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "", "count", "bounded by memory",
     "Spans in one batch, which goes as soon as it is full. Never more than the queue holds: that is warned of.",
     batch_size<&StandardConfig::span_batch, &BatchConfig::max_export_batch_size>},
    {standard, "OTEL_BLRP_SCHEDULE_DELAY", "", "ms", "1000", "The same for log records.",
     batch_field<&StandardConfig::log_batch, &BatchConfig::schedule_delay>},
    {standard, "OTEL_BLRP_EXPORT_TIMEOUT", "", "ms", "30000", "The same for log records.",
     batch_field<&StandardConfig::log_batch, &BatchConfig::export_timeout>},
    {standard, "OTEL_BLRP_MAX_QUEUE_SIZE", "", "count", "bounded by memory", "The same for log records.",
     batch_size<&StandardConfig::log_batch, &BatchConfig::max_queue_size>},
    {standard, "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "", "count", "bounded by memory", "The same for log records.",
     batch_size<&StandardConfig::log_batch, &BatchConfig::max_export_batch_size>},
    {standard,
     "OTEL_METRIC_EXPORT_INTERVAL",
     "",
     "ms",
     "10000",
     "Metrics are sent this often.",
     {[](Config& c, const Setting& s) { c.standard.metric_export_interval = duration(s, milliseconds{1}); },
      [](const Config& c) { return text_of(c.standard.metric_export_interval); }}},
    {standard, "OTEL_METRIC_EXPORT_TIMEOUT", "", "ms", "30000", "Bounds one export of metrics.",
     field<&Config::standard, &StandardConfig::metric_export_timeout>},
    // The general limits stand before those of each signal, which win.
    {standard, "OTEL_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of anything.",
     general_limit_field<&SpanLimits::attributes, &LogLimits::attributes>},
    {standard, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "", "count", "none", "Characters of a value of anything.",
     general_limit_field<&SpanLimits::value_length, &LogLimits::value_length>},
    {standard, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of a span.",
     limit_field<&SpanLimits::attributes>},
    {standard, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "", "count", "none", "Characters of a value of a span.",
     limit_field<&SpanLimits::value_length>},
    {standard, "OTEL_SPAN_EVENT_COUNT_LIMIT", "", "count", "128", "Events of a span.",
     limit_field<&SpanLimits::events>},
    {standard, "OTEL_SPAN_LINK_COUNT_LIMIT", "", "count", "128", "Links of a span.", limit_field<&SpanLimits::links>},
    {standard, "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of an event.",
     limit_field<&SpanLimits::event_attributes>},
    {standard, "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of a link.",
     limit_field<&SpanLimits::link_attributes>},
    {standard, "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "", "count", "128", "Attributes of a log record.",
     log_limit_field<&LogLimits::attributes>},
    {standard, "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", "", "count", "none",
     "Characters of a value of a log record.", log_limit_field<&LogLimits::value_length>},

    {otlp,
     "ENDPOINT",
     "",
     "URL",
     "localhost, port 4317 (grpc) or 4318 (http)",
     "The collector. With http, /v1/{signal} is appended, but not to the URL of one signal.",
     {},
     otlp_field<&OtlpConfig::endpoint>},
    {otlp, "PROTOCOL", "", "name", "grpc", "grpc, http/protobuf, http/json.", {}, protocol},
    {otlp,
     "HEADERS",
     "",
     "key=value,…",
     "",
     "Sent with each request, percent-encoded.",
     {},
     {[](OtlpConfig& o, const Setting& s) { o.headers = pairs(s); },
      [](const OtlpConfig& o) { return text_of(o.headers); }}},
    {otlp, "TIMEOUT", "", "ms", "10000", "Bounds one request.", {}, otlp_field<&OtlpConfig::timeout>},
    {otlp,
     "COMPRESSION",
     "",
     "name",
     "none",
     "gzip or none; with http also zstd, which not every receiver takes.",
     {},
     compression},
    {otlp,
     "INSECURE",
     "",
     "true, false",
     "false",
     "grpc without TLS, for an endpoint that has no scheme.",
     {},
     insecure},
    {otlp,
     "CERTIFICATE",
     "",
     "path",
     "the system's",
     "Authorities that the collector's certificate is checked by (PEM).",
     {},
     otlp_field<&OtlpConfig::certificate>},
    {otlp, "CLIENT_KEY", "", "path", "", "This side's key (PEM).", {}, otlp_field<&OtlpConfig::client_key>},
    {otlp,
     "CLIENT_CERTIFICATE",
     "",
     "path",
     "",
     "This side's certificate (PEM).",
     {},
     otlp_field<&OtlpConfig::client_certificate>},

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
    {detected, "SLURM_PROCID", "", "integer", "", "Rank, Slurm; not in a batch script, which is no task of its job."},
    {detected, "SLURM_STEP_NUM_TASKS", "", "integer", "", "World size, Slurm: what srun started."},
    {detected, "SLURM_NTASKS", "", "integer", "",
     "World size where the step's is not known; resource attribute `slurm.ntasks`."},
    {detected, "SLURM_LOCALID", "", "integer", "", "Rank on this node, Slurm."},
    {detected, "MASTER_ADDR", "", "text", "", "Rendezvous; the run id of last resort."},
    {detected, "MASTER_PORT", "", "integer", "", "Rendezvous; the run id of last resort."},
    {detected, "TORCHELASTIC_RUN_ID", "", "text", "", "Run id, unless `none`."},
    {detected, "TORCHELASTIC_RESTART_COUNT", "", "integer", "",
     "Added to the run id when not 0: to Slurm's as `-elastic1`, to others as `-restart1`; not to `RUN_ID` and "
     "mpirun's."},
    {detected, "PMIX_NAMESPACE", "", "text", "", "Run id; Open MPI's mpirun. Under Slurm, added to it."},
    {detected, "OMPI_MCA_ess_base_jobid", "", "text", "", "The same."},
    {detected, "OMPI_MCA_orte_precondition_transports", "", "text", "",
     "Goes with these, so that two jobs of one name have two run ids."},
    {detected, "SLURM_JOB_ID", "", "text", "", "Run id; resource attribute `slurm.job.id`."},
    {detected, "SLURM_STEP_ID", "SLURM_STEPID", "text", "",
     "Added to the run id, unless mpirun's job is; srun sets it, a batch script has none."},
    {detected, "SLURM_ARRAY_JOB_ID", "", "text", "", "Resource attribute `slurm.array.job.id`."},
    {detected, "SLURM_ARRAY_TASK_ID", "", "text", "", "Added to the run id; resource attribute `slurm.array.task.id`."},
    {detected, "SLURM_RESTART_COUNT", "", "integer", "",
     "Added to the run id when not 0, as `-restart1`; resource attribute `slurm.restart_count`."},
    {detected, "SLURM_JOB_NAME", "", "text", "", "Resource attribute `slurm.job.name`."},
    {detected, "SLURM_JOB_NODELIST", "SLURM_NODELIST", "text", "", "Resource attribute `slurm.nodelist`."},
    {detected, "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "integer", "", "Resource attribute `slurm.nnodes`."},
    {detected, "SLURM_JOB_PARTITION", "", "text", "", "Resource attribute `slurm.partition`."},
    {detected, "SLURM_CLUSTER_NAME", "", "text", "", "Resource attribute `slurm.cluster.name`."},
    {detected, "TRACEPARENT", "", "text", "",
     "The span that the process was started in: the parent of its spans that have no other."},
    {detected, "TRACESTATE", "", "text", "", "Of that span's trace; sent on."},
    {detected, "BAGGAGE", "", "text", "", "What goes with it; sent on."},
    {detected, "XDG_STATE_HOME", "", "path", "~/.local/state", "The user's state directory, which holds lens/spool."},
    {detected, "HOME", "", "path", "",
     "The user's directory; without it there is no spool unless SPOOL_DIR names one."},
    {detected, "http_proxy", "", "URL", "", "Stands before http:// endpoints: libcurl's, as the next three."},
    {detected, "https_proxy", "HTTPS_PROXY", "URL", "", "Stands before https:// endpoints."},
    {detected, "all_proxy", "ALL_PROXY", "URL", "", "Stands before endpoints that have no other."},
    {detected, "no_proxy", "NO_PROXY", "names", "", "Hosts that no proxy stands before; *: all."},
    {detected,
     "CUDA_VISIBLE_DEVICES",
     "",
     "list",
     "",
     "Resource attribute `host.gpu.count`; unset: the driver's files say it.",
     {},
     {},
     true},
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
