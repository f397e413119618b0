// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/receiver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "src/export/compression.h"
#include "src/otlp/json.h"
#include "tools/trace/trace_file.h"

namespace lens::tests {
namespace {

using namespace std::chrono_literals;

std::string address(int port) { return "127.0.0.1:" + std::to_string(port); }

/// The body of what an HTTP server answers.
std::string http_get(int port, const std::string& path) {
  const int socket = connect_to_loopback(port);
  send_all(socket, "GET " + path + " HTTP/1.0\r\n\r\n");  // so that the answer ends with the connection
  std::string answer;
  std::array<char, 65536> bytes;
  for (ssize_t size; (size = read(socket, bytes.data(), bytes.size())) > 0;)
    answer.append(bytes.data(), static_cast<std::size_t>(size));
  close(socket);
  const auto head = answer.find("\r\n\r\n");
  return head == std::string::npos ? "" : answer.substr(head + 4);
}

std::vector<std::string> collector_command(const Collector& collector, const std::string& program,
                                           const std::string& grpc, const std::string& http,
                                           const CollectorSettings& settings) {
  std::string exporters, names;
  const auto add_form = [&](const std::string& form, const std::string& options) {
    names += (names.empty() ? "file/" : ", file/") + form;
    exporters += "  file/" + form + ": {path: '" + collector.file(form).string() + "', " + options + "}\n";
  };
  add_form("jsonl", "format: json");
  add_form("jsonl.zst", "format: json, compression: zstd");
  add_form("otlp", "format: proto");
  add_form("otlp.zst", "format: proto, compression: zstd");
  exporters += "  file/metrics: {path: '" + collector.metrics_file().string() + "'}\n";
  exporters += "  file/logs: {path: '" + collector.logs_file().string() + "'}\n";
  const auto setting = [](const std::string& name, const std::string& value) {
    return value.empty() ? "" : ", " + name + ": " + value;
  };
  const std::string tls = setting("tls", settings.tls), keepalive = setting("keepalive", settings.keepalive);
  return {program, "--config",
          "yaml:receivers: {otlp: {protocols: {grpc: {endpoint: '" + grpc + "'" + tls + keepalive +
              "}, http: {endpoint: '" + http + "'" + tls + "}}}}\n" + "exporters:\n" + exporters +
              "service:\n"
              "  telemetry: {metrics: {level: none}}\n"
              "  pipelines:\n"
              "    metrics: {receivers: [otlp], exporters: [file/metrics]}\n"
              "    logs: {receivers: [otlp], exporters: [file/logs]}\n"
              "    traces: {receivers: [otlp], exporters: [" +
              names + "]}\n"};
}

std::vector<std::string> jaeger_command(const TemporaryDirectory& directory, const std::string& program,
                                        const std::string& grpc, const std::string& http, const std::string& query) {
  const auto file = directory.write(
      "jaeger.yaml", "receivers: {otlp: {protocols: {grpc: {endpoint: '" + grpc + "'}, http: {endpoint: '" + http +
                         "'}}}}\n" +
                         "extensions:\n"
                         "  jaeger_storage: {backends: {memory: {memory: {max_traces: 10000}}}}\n"
                         "  jaeger_query: {storage: {traces: memory}, http: {endpoint: '" +
                         query + "'}, grpc: {endpoint: '" + address(free_port()) +
                         "'}}\n"
                         "exporters: {jaeger_storage_exporter: {trace_storage: memory}}\n"
                         "service:\n"
                         "  extensions: [jaeger_storage, jaeger_query]\n"
                         "  telemetry: {metrics: {level: none}}\n"
                         "  pipelines: {traces: {receivers: [otlp], exporters: [jaeger_storage_exporter]}}\n");
  return {program, "--config", file.string()};
}

}  // namespace

std::string Receiver::endpoint(OtlpProtocol protocol) const {
  return "http://" + address(protocol == OtlpProtocol::grpc ? grpc_port_ : http_port_);
}

const std::vector<std::string> Collector::forms{"jsonl", "jsonl.zst", "otlp", "otlp.zst"};

Collector::Collector(const std::string& program, const CollectorSettings& settings)
    : process_(collector_command(*this, program, address(grpc_port_), address(http_port_), settings),
               {grpc_port_, http_port_}, directory_.path() / "log") {}

std::vector<RecordedRequest> Collector::received(const std::set<std::string>&, std::size_t) {
  stop();  // its files are whole then
  return requests_in(file("otlp"));
}

Jaeger::Jaeger(const std::string& program)
    : process_(jaeger_command(directory_, program, address(grpc_port_), address(http_port_), address(query_port_)),
               {grpc_port_, http_port_, query_port_}, directory_.path() / "log") {}

std::string Jaeger::ask(const std::string& path, const std::function<bool(const std::string&)>& is_complete) const {
  std::string answer;
  holds_within(10s, [&] {
    answer = http_get(query_port_, path);
    return is_complete(answer);
  });
  return answer;
}

std::vector<RecordedRequest> Jaeger::received(const std::set<std::string>& trace_ids, std::size_t spans) {
  std::vector<RecordedRequest> requests;
  holds_within(10s, [&] {
    requests.clear();
    for (const std::string& id : trace_ids) {
      const auto answer =
          nlohmann::json::parse(http_get(query_port_, "/api/v3/traces/" + id + "?raw_traces=true"), nullptr, false);
      if (answer.contains("result"))
        requests.push_back(read_request(otlp::traces_from_json(answer.at("result").dump())));
    }
    return span_count(requests) >= spans;
  });
  return requests;
}

Rotel::Rotel(const std::string& program)
    : target_([](int, const HttpRequest&) { return answer(200); }),
      process_(
          {program, "start", "--otlp-grpc-endpoint", address(grpc_port_), "--otlp-http-endpoint", address(http_port_),
           "--exporter", "otlp", "--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", target_.url()},
          {grpc_port_, http_port_}, directory_.path() / "log") {}

std::vector<RecordedRequest> Rotel::received(const std::set<std::string>&, std::size_t spans) {
  std::vector<RecordedRequest> requests;
  holds_within(10s, [&] {
    requests.clear();
    for (const HttpRequest& request : target_.requests()) {
      const auto plain = exporting::gunzipped(request.body, 16 << 20);
      requests.push_back(read_request(plain.is_whole() ? plain.bytes : request.body));
    }
    return span_count(requests) >= spans;
  });
  return requests;
}

std::unique_ptr<Receiver> start_receiver(const std::string& name, const std::string& program) {
  if (name == "otelcol") return std::make_unique<Collector>(program);
  if (name == "jaeger") return std::make_unique<Jaeger>(program);
  return std::make_unique<Rotel>(program);
}

std::vector<RecordedRequest> requests_in(const std::filesystem::path& path) {
  std::vector<RecordedRequest> requests;
  trace::TraceFile file(path);
  while (const auto message = file.next()) requests.push_back(read_request(*message));
  for (const trace::Problem& problem : file.problems()) ADD_FAILURE() << path << ": " << problem.reason;
  return requests;
}

std::size_t span_count(const std::vector<RecordedRequest>& requests) {
  return std::accumulate(requests.begin(), requests.end(), std::size_t{0},
                         [](std::size_t sum, const RecordedRequest& request) { return sum + request.spans.size(); });
}

std::vector<std::string> span_names(const std::vector<RecordedRequest>& requests) {
  std::vector<std::string> names;
  for (const RecordedRequest& request : requests)
    for (const RecordedSpan& span : request.spans) names.push_back("svc/" + span.name);
  return names;
}

}  // namespace lens::tests
