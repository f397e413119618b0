// SPDX-License-Identifier: Apache-2.0
// The ports of a collector with TLS and without it, asked in every wrong way.
#include "tests/export/wrong_endpoint.h"

#include <gmock/gmock.h>

#include "tests/export/certificates.h"
#include "tests/interop/receiver.h"

namespace lens::tests {
namespace {

struct Asked {
  OtlpProtocol protocol, port;
  bool tls;
};

class WrongEndpoint : public testing::TestWithParam<bool> {};

// Contract: 7.wrong-protocol
TEST_P(WrongEndpoint, IsOneWarningAndNoLoss) {
  const auto program = find_peer("otelcol");
  if (!program) GTEST_SKIP() << "otelcol is not installed: scripts/interop-setup";
  const Certificates certificates;
  if (!certificates.made()) GTEST_SKIP() << "no openssl to make certificates with";
  const bool port_is_tls = GetParam();
  const Collector collector(*program, {.tls = port_is_tls ? certificates.of_collector() : ""});
  constexpr OtlpProtocol grpc = OtlpProtocol::grpc, http = OtlpProtocol::http_protobuf;
  for (const Asked& asked : {Asked{grpc, grpc, false},
                             {grpc, grpc, true},
                             {grpc, http, false},
                             {grpc, http, true},
                             {http, grpc, false},
                             {http, grpc, true},
                             {http, http, false},
                             {http, http, true}}) {
    SCOPED_TRACE(std::string(asked.protocol == grpc ? "gRPC" : "HTTP") + (asked.tls ? " with TLS" : "") + " to " +
                 (asked.port == grpc ? "gRPC" : "HTTP"));
    auto options = options_for(asked.protocol, collector.endpoint(asked.port));
    if (asked.tls) options.otlp.endpoint.replace(0, 4, "https");
    options.otlp.certificate = certificates.path("ca.pem");
    const bool other_port = asked.protocol != asked.port, other_tls = asked.tls != port_is_tls;
    if (!other_port && !other_tls) {
      ExporterUnderTest exporter(options);
      exporter.take(spans_of("a", 0, 1), 1);
      ASSERT_TRUE(exporter.until_flushed());
      EXPECT_EQ(exporter.exported(), 1u) << exporter.said();
      continue;
    }
    const std::string remedy_of_tls = asked.tls ? "write http://" : "write https://";
    const std::string remedy_of_protocol =
        asked.protocol == grpc ? "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" : "OTEL_EXPORTER_OTLP_PROTOCOL=grpc";
    expect_one_warning_and_no_loss(options, other_tls ? remedy_of_tls : remedy_of_protocol);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, WrongEndpoint, testing::Bool(),
                         [](const auto& info) { return info.param ? "Tls" : "Plain"; });

}  // namespace
}  // namespace lens::tests
