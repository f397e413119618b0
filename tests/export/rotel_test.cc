// SPDX-License-Identifier: Apache-2.0
// A receiver by other hands, in another language: spans go in by each protocol, and come out of it.
// Needs rotel from PyPI: `pip install rotel`; LENS_TEST_ROTEL names its program rotel-agent where python3 does not find
// it.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "src/base/text.h"
#include "src/export/compression.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"

namespace lens::tests {
namespace {

std::string find_rotel() {
  if (const char* named = std::getenv("LENS_TEST_ROTEL")) return named;
  FILE* python = popen("python3 -c 'import rotel; print(rotel.__path__[0] + \"/rotel-agent\")' 2>/dev/null", "r");
  std::array<char, 4096> line{};
  const std::size_t size = python ? std::fread(line.data(), 1, line.size(), python) : 0;
  if (python) pclose(python);
  return std::string(base::trim({line.data(), size}));
}

/// Takes OTLP on two ports and passes it on by OTLP/HTTP.
class Rotel {
 public:
  Rotel(const std::string& program, int target_port) {
    const std::string host = "127.0.0.1:";
    const std::string endpoint = "http://127.0.0.1:" + std::to_string(target_port);
    const std::string grpc = host + std::to_string(grpc_port), http = host + std::to_string(http_port);
    process_ = fork();
    if (process_ != 0) return;
    static_cast<void>(std::freopen("/dev/null", "w", stdout));
    static_cast<void>(std::freopen("/dev/null", "w", stderr));
    execl(program.c_str(), "rotel-agent", "start", "--otlp-grpc-endpoint", grpc.c_str(), "--otlp-http-endpoint",
          http.c_str(), "--exporter", "otlp", "--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint",
          endpoint.c_str(), nullptr);
    _exit(127);
  }
  ~Rotel() {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Rotel(const Rotel&) = delete;
  Rotel& operator=(const Rotel&) = delete;

  const int grpc_port = free_port(), http_port = free_port();

 private:
  pid_t process_;
};

struct Way {
  OtlpProtocol protocol;
  bool gzip;
};

class Interop : public testing::TestWithParam<Way> {};

TEST_P(Interop, WhatGoesIntoRotelComesOutOfIt) {
  const std::string program = find_rotel();
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "rotel is not installed: pip install rotel";
  HttpPeer sink([](int, const HttpRequest&) { return answer(200); });
  Rotel rotel(program, sink.port());
  const int port = GetParam().protocol == OtlpProtocol::grpc ? rotel.grpc_port : rotel.http_port;
  auto options = options_for(GetParam().protocol, "http://127.0.0.1:" + std::to_string(port));
  if (GetParam().gzip) options.otlp.compression = OtlpCompression::gzip;
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 4; ++i) exporter.take(spans_of("a", i * 100, 100, 400), 100);  // retried until it listens
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 400; })) << exporter.said();
  std::vector<std::string> names;
  ASSERT_TRUE(exporter.until([&] {
    names.clear();
    for (const HttpRequest& request : sink.requests()) {
      const auto plain = exporting::gunzipped(request.body, 10 << 20);
      for (const std::string& name : spans_in(plain ? *plain : request.body)) names.push_back(name);
    }
    return names.size() >= 400;
  }));
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 400)));
}

const Way ways[] = {{OtlpProtocol::grpc, false},          {OtlpProtocol::grpc, true},
                    {OtlpProtocol::http_protobuf, false}, {OtlpProtocol::http_protobuf, true},
                    {OtlpProtocol::http_json, false},     {OtlpProtocol::http_json, true}};

std::string name_of(const testing::TestParamInfo<Way>& info) {
  const std::string names[] = {"Grpc", "HttpProtobuf", "HttpJson"};
  return names[static_cast<int>(info.param.protocol)] + (info.param.gzip ? "Gzip" : "Plain");
}

INSTANTIATE_TEST_SUITE_P(Rotel, Interop, testing::ValuesIn(ways), name_of);

}  // namespace
}  // namespace lens::tests
