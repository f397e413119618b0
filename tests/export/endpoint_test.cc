// SPDX-License-Identifier: Apache-2.0
#include "src/export/endpoint.h"

#include <gmock/gmock.h>

namespace lens::exporting {
namespace {

OtlpConfig grpc(const std::string& endpoint, bool insecure = false) {
  OtlpConfig config;
  config.endpoint = endpoint;
  config.insecure = insecure;
  return config;
}

OtlpConfig http(const std::string& endpoint, bool is_full = false) {
  OtlpConfig config;
  config.protocol = OtlpProtocol::http_protobuf;
  config.endpoint = endpoint;
  config.endpoint_is_full = is_full;
  return config;
}

std::string url(const OtlpConfig& config, Signal signal = Signal::traces) { return endpoint_of(config, signal).url; }

const std::string grpc_method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

// Contract: 7.protocols
TEST(Endpoint, WithoutOneItIsTheCollectorOnThisHost) {
  EXPECT_EQ(url(grpc("")), "http://localhost:4317" + grpc_method);
  EXPECT_EQ(url(http("")), "http://localhost:4318/v1/traces");
}

// Contract: 7.endpoints, C23
TEST(Endpoint, APathOfTheSignalIsAppendedToABaseWithOneSlash) {
  EXPECT_EQ(url(http("http://c:4318")), "http://c:4318/v1/traces");
  EXPECT_EQ(url(http("http://c:4318/")), "http://c:4318/v1/traces");
  EXPECT_EQ(url(http("http://c/base")), "http://c/base/v1/traces");
  EXPECT_EQ(url(http("http://c/base/")), "http://c/base/v1/traces");
  EXPECT_EQ(url(http("https://c/base?token=1#part")), "https://c/base/v1/traces?token=1");
  EXPECT_EQ(url(http("http://c"), Signal::metrics), "http://c/v1/metrics");
  EXPECT_EQ(url(http("http://c"), Signal::logs), "http://c/v1/logs");
}

// Contract: 7.endpoints
TEST(Endpoint, OneOfTheSignalIsUsedAsItIs) {
  EXPECT_EQ(url(http("http://c:4318/v1/traces", true)), "http://c:4318/v1/traces");
  EXPECT_EQ(url(http("http://c:4318/otlp/", true)), "http://c:4318/otlp/");
  EXPECT_EQ(url(http("http://c:4318", true)), "http://c:4318/");
  EXPECT_EQ(url(http("http://c?a=b", true)), "http://c/?a=b");
}

// Contract: 7.endpoints
TEST(Endpoint, TheSchemeOfAGrpcEndpointDecidesAboutTlsAndInsecureOnlyWhereThereIsNone) {
  EXPECT_EQ(url(grpc("http://c:1", false)), "http://c:1" + grpc_method);
  EXPECT_EQ(url(grpc("https://c:1", true)), "https://c:1" + grpc_method);
  EXPECT_EQ(url(grpc("HTTPS://c:1", true)), "https://c:1" + grpc_method);
  EXPECT_EQ(url(grpc("c:1", true)), "http://c:1" + grpc_method);
  EXPECT_EQ(url(grpc("c:1", false)), "https://c:1" + grpc_method);
  EXPECT_EQ(url(grpc("dns:///c:1", true)), "http://c:1" + grpc_method);
}

// Contract: 7.endpoints
TEST(Endpoint, AGrpcEndpointHasNoPathOfItsOwnAndItsPortByDefault) {
  EXPECT_EQ(url(grpc("http://c/ignored")), "http://c:4317" + grpc_method);
  EXPECT_EQ(url(grpc("http://[::1]")), "http://[::1]:4317" + grpc_method);
  EXPECT_EQ(url(grpc("http://[::1]:5")), "http://[::1]:5" + grpc_method);
  EXPECT_THAT(url(grpc("http://c"), Signal::metrics), testing::EndsWith(".metrics.v1.MetricsService/Export"));
  EXPECT_THAT(url(grpc("http://c"), Signal::logs), testing::EndsWith(".logs.v1.LogsService/Export"));
}

// Contract: 7.unix
TEST(Endpoint, MayBeASocketOfThisHost) {
  for (const char* endpoint : {"unix:/run/c.sock", "unix:///run/c.sock"}) {
    EXPECT_EQ(endpoint_of(grpc(endpoint), Signal::traces).unix_socket, "/run/c.sock");
    EXPECT_EQ(url(grpc(endpoint)), "http://localhost" + grpc_method);
    EXPECT_EQ(url(http(endpoint)), "http://localhost/v1/traces");
  }
}

// Contract: 7.endpoints
TEST(Endpoint, NoErrorShowsAPassword) {
  for (const char* wrong : {"http://user:hidden@c:1", "http://hidden@c", "ftp://user:hidden@c", "user:hidden@c:4317",
                            "http://user:hid/hidden@c", "http://user:hidden@hidden@c", "http://user:hidden @c",
                            "user:hidden://hidden@c", "http:/user:hidden@c", "http://user:hidden@c:port"})
    for (const OtlpConfig& config : {grpc(wrong), http(wrong), http(wrong, true)}) {
      SCOPED_TRACE(wrong);
      try {
        ADD_FAILURE() << url(config);
      } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("…@c"), testing::Not(testing::HasSubstr("hid"))));
      }
    }
  EXPECT_EQ(without_credentials("http://user:password@c:1/path"), "http://…@c:1/path");
  EXPECT_EQ(without_credentials("user:password@c:1"), "…@c:1");
  EXPECT_EQ(without_credentials("http://c:1/path"), "http://c:1/path");
  EXPECT_EQ(without_credentials(""), "");
}

// Contract: 7.endpoints
TEST(Endpoint, WhatIsNoneIsAnErrorThatQuotesIt) {
  for (const char* wrong :
       {"ftp://c", "http://", "http://c:port", "http://c:0", "http://c:65536", "http://c:", "http://a b",
        "http://user:password@c", "http://[::1", "collector:4318", "http://c\r\nX: y", "dns://"}) {
    SCOPED_TRACE(wrong);
    EXPECT_THROW(url(http(wrong)), std::invalid_argument);
  }
  for (const char* wrong : {"unix:", "unix://", ":4317", "https://"}) {
    SCOPED_TRACE(wrong);
    EXPECT_THROW(url(grpc(wrong)), std::invalid_argument);
  }
}

}  // namespace
}  // namespace lens::exporting
