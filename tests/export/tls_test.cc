// SPDX-License-Identifier: Apache-2.0
// TLS to a real gRPC server, and over HTTP: an authority of one's own, a certificate of the client, and their absence.
#include <gmock/gmock.h>

#include "src/base/file.h"
#include "tests/export/certificates.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback_server.h"
#include "tests/export/tls_front.h"
#include "tests/export/wrong_endpoint.h"

namespace lens::tests {
namespace {

using testing::HasSubstr;

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    if (!certificates_.made()) GTEST_SKIP() << "no openssl to make certificates with";
  }
  GrpcPeerOptions server(bool wants_client) const {
    return {.tls = true,
            .certificate = certificates_.text("server.pem"),
            .key = certificates_.text("server.key"),
            .client_authority = wants_client ? certificates_.text("ca.pem") : ""};
  }
  static exporting::OtlpExporterOptions options(const std::string& scheme, const GrpcPeer& peer) {
    return options_for(OtlpProtocol::grpc, scheme + "127.0.0.1:" + std::to_string(peer.port()));
  }

  Certificates certificates_;
};

// Contract: 7.tls
TEST_F(Tls, TrustsTheAuthorityThatIsNamedAndKeepsTheConnection) {
  GrpcPeer peer(accept_all_calls, server(false));
  auto options = Tls::options("https://", peer);
  options.otlp.certificate = certificates_.path("ca.pem");
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 3; ++i) {
    exporter.take(spans_of("a", i, 1, 100'000), 1);
    ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  }
  EXPECT_EQ(exporter.exported(), 3u);
  EXPECT_EQ(exporter.said(), "");
}

// Contract: 7.tls
TEST_F(Tls, TrustsNobodyElse) {
  GrpcPeer peer(accept_all_calls, server(false));
  ExporterUnderTest exporter(options("https://", peer));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_THAT(exporter.said(), HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"));
  EXPECT_TRUE(peer.requests().empty());
}

// At each attempt alike, so that it is one warning.
// Contract: 7.tls
TEST_F(Tls, AFileOfAuthoritiesThatCannotBeUsedIsNamed) {
  const TemporaryDirectory directory;
  for (const std::string& file : {std::string("/no/such/file"), directory.write("empty", "").string(),
                                  directory.path().string(), certificates_.path("ca.key")}) {
    SCOPED_TRACE(file);
    GrpcPeer peer(accept_all_calls, server(false));
    auto options = Tls::options("https://", peer);
    options.otlp.certificate = file;
    ExporterUnderTest exporter(options);
    exporter.take(spans_of("a", 0, 1), 1);
    ASSERT_TRUE(exporter.until([&] {
      const auto counts = (*exporter).counts();
      return counts.retries >= 4;
    }));
    EXPECT_THAT(exporter.said(), HasSubstr(": " + file + "; "));
    EXPECT_THAT(exporter.said(), HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"));
    EXPECT_EQ(std::ranges::count(exporter.said(), '\n'), 1) << exporter.said();
  }
}

TEST_F(Tls, AnEndpointWithoutASchemeIsTls) {
  GrpcPeer peer(accept_all_calls, server(false));
  auto options = Tls::options("", peer);
  options.otlp.certificate = certificates_.path("ca.pem");
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 1u);
}

// Contract: 7.tls
TEST_F(Tls, ShowsTheClientsCertificate) {
  GrpcPeer peer(accept_all_calls, server(true));
  auto options = Tls::options("https://", peer);
  options.otlp.certificate = certificates_.path("ca.pem");
  {
    ExporterUnderTest without(options);
    without.take(spans_of("a", 0, 1), 1);
    ASSERT_TRUE(without.until([&] { return !without.said().empty(); }));
  }
  options.otlp.client_certificate = certificates_.path("client.pem");
  options.otlp.client_key = certificates_.path("client.key");
  ExporterUnderTest with(options);
  with.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(with.until_flushed()) << with.said();
  EXPECT_EQ(peer.requests().size(), 1u);
}

// Contract: 7.tls
TEST_F(Tls, AKeyThatDoesNotBelongToTheClientsCertificateIsNamed) {
  GrpcPeer peer(accept_all_calls, server(true));
  auto options = Tls::options("https://", peer);
  options.otlp.certificate = certificates_.path("ca.pem");
  options.otlp.client_certificate = certificates_.path("client.pem");
  options.otlp.client_key = certificates_.path("server.key");
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_THAT(exporter.said(), HasSubstr("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"));
  EXPECT_THAT(exporter.said(), HasSubstr("OTEL_EXPORTER_OTLP_CLIENT_KEY"));
}

// Contract: 7.tls
TEST_F(Tls, OfHttpTrustsAndShowsWhatItIsToldTo) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); });
  const TlsFront front(
      peer.port(), {certificates_.path("server.pem"), certificates_.path("server.key"), certificates_.path("ca.pem")});
  auto options = options_for(OtlpProtocol::http_protobuf, front.url());
  const auto said = [&](const exporting::OtlpExporterOptions& wrong) {
    ExporterUnderTest exporter(wrong);
    exporter.take(spans_of("a", 0, 1), 1);
    EXPECT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
    return exporter.said();
  };
  EXPECT_THAT(said(options), HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"));
  options.otlp.certificate = certificates_.path("ca.pem");
  EXPECT_THAT(said(options), HasSubstr("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"));
  EXPECT_TRUE(peer.requests().empty());
  options.otlp.client_certificate = certificates_.path("client.pem");
  options.otlp.client_key = certificates_.path("client.key");
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 2; ++i) {
    exporter.take(spans_of("a", i, 1, 100'000), 1);
    ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  }
  EXPECT_EQ(exporter.exported(), 2u);
  EXPECT_EQ(peer.connections(), 1);
}

const OtlpProtocol protocols[] = {OtlpProtocol::grpc, OtlpProtocol::http_protobuf, OtlpProtocol::http_json};

// Contract: 7.wrong-protocol
TEST_F(Tls, APlainPortIsNamedAsSuch) {
  GrpcPeer grpc(accept_all_calls);
  const LoopbackServer http([](int client, int, const std::atomic<bool>&) {
    char hello[64];
    if (recv(client, hello, sizeof hello, 0) > 0)
      send_all(client, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  });
  for (const int port : {grpc.port(), http.port()})
    for (const OtlpProtocol protocol : protocols)
      expect_one_warning_and_no_loss(options_for(protocol, "https://127.0.0.1:" + std::to_string(port)),
                                     "write http://");
}

// In whatever moment that is seen.
// Contract: 7.wrong-protocol
TEST_F(Tls, APortThatResetsEachConnectionIsOneWarning) {
  const LoopbackServer resetting([](int client, int number, const std::atomic<bool>&) {
    char hello[1];
    if (number % 2 == 1) static_cast<void>(recv(client, hello, sizeof hello, 0));
    reset_connection(client);
  });
  const std::string port = std::to_string(resetting.port());
  for (const OtlpProtocol protocol : protocols) {
    expect_one_warning_and_no_loss(options_for(protocol, "http://127.0.0.1:" + port), "write https://");
    expect_one_warning_and_no_loss(options_for(protocol, "https://127.0.0.1:" + port), "write http://");
  }
}

// Contract: 7.wrong-protocol
TEST_F(Tls, APortOfTlsIsNamedAsSuchToWhoSpeaksWithoutIt) {
  GrpcPeer grpc(accept_all_calls, server(false));
  HttpPeer http([](int, const HttpRequest&) { return answer(200); });
  const TlsFront front(http.port(), {certificates_.path("server.pem"), certificates_.path("server.key"), ""});
  // A web server's port of TLS, as those say it who look at what they got.
  HttpPeer telling([](int, const HttpRequest&) {
    return answer(400, "Client sent an HTTP request to an HTTPS server.\n", "Content-Type: text/plain\r\n");
  });
  const std::string front_port = front.url().substr(front.url().rfind(':') + 1);
  for (const std::string& port : {std::to_string(grpc.port()), front_port, std::to_string(telling.port())})
    for (const OtlpProtocol protocol : protocols) {
      SCOPED_TRACE(port == front_port ? "TLS front" : port == std::to_string(grpc.port()) ? "gRPC" : "telling");
      expect_one_warning_and_no_loss(options_for(protocol, "http://127.0.0.1:" + port), "write https://");
    }
}

// Contract: 7.wrong-protocol
TEST_F(Tls, ThePortOfTheOtherProtocolIsNamedAsSuch) {
  HttpPeer http([](int, const HttpRequest& request) {
    return request.path.starts_with("/v1/") ? answer(200)
                                            : answer(404, "404 page not found", "Content-Type: text/plain\r\n");
  });
  const TlsFront front(http.port(), {certificates_.path("server.pem"), certificates_.path("server.key"), ""});
  auto by_grpc = options_for(OtlpProtocol::grpc, front.url());
  by_grpc.otlp.certificate = certificates_.path("ca.pem");
  expect_one_warning_and_no_loss(by_grpc, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf");
  GrpcPeer grpc(accept_all_calls, server(false));
  for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::http_json}) {
    auto by_http = options_for(protocol, "https://127.0.0.1:" + std::to_string(grpc.port()));
    by_http.otlp.certificate = certificates_.path("ca.pem");
    expect_one_warning_and_no_loss(by_http, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc");
  }
}

}  // namespace
}  // namespace lens::tests
