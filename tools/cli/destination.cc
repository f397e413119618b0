// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/destination.h"

#include <unistd.h>

#include <chrono>

#include <fmt/format.h>

#include "tools/cli/text_format.h"

namespace lens::cli {
namespace {

using Clock = std::chrono::steady_clock;

OtlpProtocol protocol_of(const std::string& name) {
  return name == "grpc"        ? OtlpProtocol::grpc
         : name == "http/json" ? OtlpProtocol::http_json
                               : OtlpProtocol::http_protobuf;
}

OtlpConfig otlp_config(const Config& config, Signal signal) {
  switch (signal) {
    case Signal::traces: return config.standard.otlp_traces;
    case Signal::metrics: return config.standard.otlp_metrics;
    case Signal::logs: return config.standard.otlp_logs;
  }
  return {};
}

std::string progress_text(const send::Progress& progress, Signal signal, Clock::time_point began) {
  const double share = progress.total == 0 ? 1 : double(progress.passed) / double(progress.total);
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::string text = fmt::format("{} sent · {:.0f} %", format_items(progress.accepted, signal), 100 * share);
  if (seconds >= 1)
    text += fmt::format(" · {} a second", format_count(std::uint64_t(double(progress.accepted) / seconds)));
  if (progress.rejected > 0) text += fmt::format(" · {} rejected", format_count(progress.rejected));
  return text;
}

/// A number from `least` to `most`, or 0.
CLI::Validator zero_or_between(double least, double most, const std::string& what) {
  const auto reason = [=](const std::string& text) {
    double value = -1;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    const bool is_right = is_number && (value == 0 || (value >= least && value <= most));
    return is_right ? std::string() : fmt::format("{} is not {} from {} to {}, nor 0", text, what, least, most);
  };
  return CLI::Validator(reason, "");
}

constexpr double most_items_per_s = 1'000'000'000, least_items_per_s = 0.001, most_retry_s = 31'536'000;

}  // namespace

void add_destination_options(CLI::App& command, DestinationOptions& options) {
  command.add_option("--endpoint", options.endpoint,
                     "The collector (default: OTEL_EXPORTER_OTLP_ENDPOINT, else this host)");
  command
      .add_option("--protocol", options.protocol,
                  "grpc, http/protobuf or http/json (default: OTEL_EXPORTER_OTLP_PROTOCOL)")
      ->check(CLI::IsMember({"grpc", "http/protobuf", "http/json"}));
  command.add_option("--rate", options.rate, "Spans a second at most; 0: as fast as they are taken")
      ->check(zero_or_between(least_items_per_s, most_items_per_s, "a number of spans a second"))
      ->capture_default_str();
  command.add_option("--retry-for", options.retry_s, "Seconds to try again when the collector does not answer")
      ->check(zero_or_between(0.001, most_retry_s, "a number of seconds"))
      ->capture_default_str();
}

Sender::Sender(const DestinationOptions& options, const Config& config)
    : options_(options), config_(config), console_(STDOUT_FILENO, STDERR_FILENO) {
  for (const std::string& warning : config.warnings) console_.print_message(warning);
}

send::Delivery Sender::delivery(Signal signal) {
  send::DeliveryOptions delivery;
  delivery.otlp = otlp_config(config_, signal);
  delivery.signal = signal;
  delivery.give_up_after = std::chrono::milliseconds(static_cast<std::int64_t>(options_.retry_s * 1000));
  if (!options_.protocol.empty()) delivery.otlp.protocol = protocol_of(options_.protocol);
  if (!options_.endpoint.empty()) {
    delivery.otlp.endpoint = options_.endpoint;
    delivery.otlp.endpoint_is_full = false;
  }
  return send::Delivery(delivery, [this](std::string_view reason) {
    console_.print_message(fmt::format("{}; trying again for {:g} s", reason, options_.retry_s));
  });
}

send::Progress Sender::send(send::Backlog& backlog, send::Delivery& delivery, Signal signal) {
  const auto began = Clock::now();
  auto shown = began;
  send::SendOptions options{.items_per_s = options_.rate};
  options.report = [this](std::string_view line) { console_.print_message(line); };
  options.on_progress = [&](const send::Progress& progress) {
    if (Clock::now() - shown < std::chrono::milliseconds(200)) return;
    shown = Clock::now();
    console_.show_progress(progress_text(progress, signal, began));
  };
  const send::Progress progress = send_all(backlog, delivery, options);
  console_.end_progress("");
  return progress;
}

std::string format_items(std::uint64_t count, Signal signal) {
  const char* noun = signal == Signal::traces ? "span" : signal == Signal::metrics ? "metric" : "log record";
  return format_count(count, noun);
}

std::string format_result(const send::Progress& progress, const send::Delivery& delivery, Signal signal) {
  return fmt::format("{} took {}{}", delivery.destination(), format_items(progress.accepted, signal),
                     progress.rejected == 0 ? "" : " and rejected " + format_items(progress.rejected, signal));
}

}  // namespace lens::cli
