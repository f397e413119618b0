// SPDX-License-Identifier: Apache-2.0
// What telemetry does in this process: read from the environment, then changed as the program likes.
// Include this to configure set-up. Every variable, with its default, is listed in docs/configuration.md.
//
// Threads:   plain values; `from_env` reads the environment, so call it before threads change that.
// Ownership: a Config owns its strings; the vocabulary that it names must outlive it (they are static).
// Errors:    `from_env` throws std::invalid_argument, naming the variable, for a malformed value of a prefixed one. A
//            malformed standard one (OTEL_…) goes to `warnings` and keeps its default. Names of strategies, exporters
//            and span groups are checked at set-up, and only when telemetry is enabled.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lens/group.h"
#include "lens/resource.h"
#include "lens/visibility.h"
#include "lens/w3c.h"

namespace lens {

/// Which variables `Config::from_env` reads: `<prefix>_KEY` first, then `<fallback_prefix>_KEY`.
struct EnvOptions {
  std::string prefix = "NEMO_LENS";
  std::string fallback_prefix = {};
  std::reference_wrapper<const Vocabulary> vocabulary = SpanGroup::vocabulary();
};

enum class OtlpProtocol { grpc, http_protobuf, http_json };
enum class OtlpCompression { none, gzip, zstd };  ///< zstd: with http only, and an extension of OTLP

/// How one signal travels: OTEL_EXPORTER_OTLP_<KEY>, or OTEL_EXPORTER_OTLP_<SIGNAL>_<KEY>, which wins.
struct OtlpConfig {
  std::string endpoint = {};      ///< empty: localhost, port 4317 for grpc and 4318 for http
  bool endpoint_is_full = false;  ///< named for this signal, so used as it is: no v1/<signal> is appended
  OtlpProtocol protocol = OtlpProtocol::grpc;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::chrono::milliseconds timeout{10'000};
  OtlpCompression compression = OtlpCompression::none;
  bool insecure = false;         ///< grpc without TLS, for an endpoint that has no scheme
  std::string certificate = {};  ///< files in PEM; empty: the system's authorities, no client certificate
  std::string client_key = {};
  std::string client_certificate = {};

  friend bool operator==(const OtlpConfig&, const OtlpConfig&) = default;
};

/// OTEL_BSP_… for spans, OTEL_BLRP_… for log records.
struct BatchConfig {
  std::chrono::milliseconds schedule_delay;
  std::chrono::milliseconds export_timeout{30'000};
  std::size_t max_queue_size = 0;         ///< 0: as many as the memory bound allows
  std::size_t max_export_batch_size = 0;  ///< 0: as many as make a request of a good size

  friend bool operator==(const BatchConfig&, const BatchConfig&) = default;
};

/// OTEL_SPAN_…, OTEL_EVENT_…, OTEL_LINK_… and OTEL_ATTRIBUTE_… limits; what lies beyond is counted and dropped.
struct SpanLimits {
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  std::size_t attributes = 128;
  std::size_t events = 128;
  std::size_t links = 128;
  std::size_t event_attributes = 128;
  std::size_t link_attributes = 128;
  std::size_t value_length = unlimited;  ///< of a string value, in characters

  friend bool operator==(const SpanLimits&, const SpanLimits&) = default;
};

/// OTEL_LOGRECORD_… and OTEL_ATTRIBUTE_… limits.
struct LogLimits {
  std::size_t attributes = 128;
  std::size_t value_length = SpanLimits::unlimited;  ///< of a string value, in characters; the body has its own limit

  friend bool operator==(const LogLimits&, const LogLimits&) = default;
};

/// The variables of the OpenTelemetry specification.
struct StandardConfig {
  bool sdk_disabled = false;
  ResourceAttributes resource_attributes = {};  ///< OTEL_RESOURCE_ATTRIBUTES, decoded
  OtlpConfig otlp_traces = {};
  OtlpConfig otlp_metrics = {};
  OtlpConfig otlp_logs = {};
  std::string traces_exporter = {};  ///< otlp, console or none; empty: unset
  std::string metrics_exporter = {};
  std::string logs_exporter = {};
  BatchConfig span_batch{.schedule_delay = std::chrono::milliseconds{5'000}};
  BatchConfig log_batch{.schedule_delay = std::chrono::milliseconds{1'000}};
  std::chrono::milliseconds metric_export_interval{10'000};
  std::chrono::milliseconds metric_export_timeout{30'000};
  SpanLimits span_limits = {};
  LogLimits log_limits = {};
  std::string traces_sampler = "parentbased_always_on";
  double traces_sampler_ratio = 1.0;  ///< OTEL_TRACES_SAMPLER_ARG
  std::vector<std::string> propagators = {"tracecontext", "baggage"};

  friend bool operator==(const StandardConfig&, const StandardConfig&) = default;
};

struct Config;
struct Rank;

/// Whether a rank exports. What it throws, set-up throws.
using ExportStrategy = std::function<bool(const Config&, const Rank&)>;

struct Config {
  /// Reads and checks every variable. Throws std::invalid_argument as said above; no other side effect.
  LENS_API static Config from_env(const EnvOptions& options = {});

  /// The same configuration as variables, for the environment of a worker that is spawned, over what it inherits. Where
  /// no `run_id` is set they name the run of this process, which the worker is then of: the one that it was set up
  /// with, else the one that set-up would derive for `Rank::from_env()`. `from_env` with these options gives an equal
  /// configuration, but for that, and for what no variable can say:
  /// - `vocabulary`, `custom_strategy`, `on_error`, `replace_running`, what the options or `warnings` tell, and
  ///   `started_in`, which workers inherit;
  /// - blanks around a text; a redacted key that holds a comma or is `none`; a negative time, which set-up refuses;
  /// - the types of resource attributes, which come back as text;
  /// - endpoints that differ between the signals, which come back as the URLs that they stand for.
  LENS_API std::vector<std::pair<std::string, std::string>> to_env(const EnvOptions& options) const;
  /// For a worker that reads the prefixes of this configuration.
  LENS_API std::vector<std::pair<std::string, std::string>> to_env() const;

  /// What `span_groups` means in `vocabulary`. Throws std::invalid_argument that lists the valid words.
  LENS_API GroupSet resolved_span_groups() const;

  // The prefixed variables, by the name of the field in upper case.
  bool enabled = false;  ///< nothing happens unless true
  std::string span_groups = "default";
  std::string export_strategy = "single_rank";  ///< or all_ranks, sampled, first_rank_per_node, or a registered one
  int export_rank = -1;                         ///< for single_rank; negative: the last rank
  double export_sample_rate = 1.0;              ///< for sampled and the sampler; 0 … 1
  bool sampler_enabled = false;                 ///< spans only on the ranks that `sampled` would choose
  bool traces_enabled = true;
  bool metrics_enabled = true;
  bool logs_enabled = false;
  int sample_every_n_steps = 1;                   ///< keeps every Nth iteration whole, the same ones on every rank
  std::string exporter = "otlp";                  ///< or console, file, none
  std::string file_dir = {};                      ///< empty: lens/<run id>
  std::string file_format = "proto";              ///< or json
  std::uint64_t file_max_size_bytes = 0;          ///< FILE_MAX_SIZE; then the next file; 0: no limit
  std::string spool_dir = {};                     ///< empty: the user's state directory
  std::uint64_t spool_size_bytes = 512ULL << 20;  ///< SPOOL_SIZE; 0: no spool
  std::string shm_dir = default_shm_dir();        ///< empty: rings in private memory
  std::string run_id = {};                        ///< empty: derived from the launcher
  std::string user_id = {};

  // Unprefixed.
  std::string service_name = {};  ///< OTEL_SERVICE_NAME; empty: service.name of the resource attributes, else `nemo`
  std::string wandb_entity = {};
  std::string wandb_project = {};
  std::string deployment_environment = {};  ///< DEPLOYMENT_ENV, else ENVIRONMENT
  StandardConfig standard = {};

  // Not in the environment.
  std::string prefix = "NEMO_LENS";  ///< that from_env was given: messages name variables by it
  std::string fallback_prefix = {};  ///< the same
  std::reference_wrapper<const Vocabulary> vocabulary = SpanGroup::vocabulary();
  /// What the launcher said in TRACEPARENT, TRACESTATE and BAGGAGE. The span is the parent of all spans of this process
  /// that have no other; the rest is sent on by `inject`.
  Propagation started_in = {};
  ExportStrategy custom_strategy = {};                ///< instead of the named one; asked for this rank alone
  std::chrono::milliseconds shutdown_timeout{5'000};  ///< bounds the whole shutdown
  /// Receives one line of text for each warning and background failure, on any thread. When empty, what set-up and
  /// shutdown have to say (a mistyped variable, spans that were lost) goes to standard error, of what set-up says that
  /// of rank 0 alone; so does a source of trace contexts that has none. What fails in between is only counted.
  std::function<void(std::string_view)> on_error = {};
  /// String values under these keys become "[REDACTED]", in any case; password, token, secret and key also as the
  /// last part of a key after `.` or `_`.
  std::vector<std::string> redacted_keys = {"prompt",   "input_text", "output_text", "text",
                                            "password", "token",      "secret",      "key"};
  bool replace_running = false;            ///< for tests: a set-up shuts down the one that runs, instead of throwing
  std::vector<std::string> warnings = {};  ///< found by from_env; handed to on_error at set-up

  /// Whether both say the same; callables and warnings are not compared.
  LENS_API friend bool operator==(const Config& left, const Config& right);

  /// The user's own directory of shared memory.
  LENS_API static std::string default_shm_dir();
  /// lens/spool in the user's state directory; empty when the environment names none.
  LENS_API static std::string default_spool_dir();
};

}  // namespace lens
