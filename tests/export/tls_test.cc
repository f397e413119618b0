// SPDX-License-Identifier: Apache-2.0
// TLS to a real gRPC server: an authority of one's own, a certificate of the client, and their absence.
#include <gmock/gmock.h>

#include "src/base/file.h"
#include "tests/export/certificates.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/grpc_peer.h"

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
  static GrpcAnswer accept_all(int, const GrpcRequest&) { return {}; }

  Certificates certificates_;
};

TEST_F(Tls, TrustsTheAuthorityThatIsNamedAndKeepsTheConnection) {
  GrpcPeer peer(accept_all, server(false));
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

TEST_F(Tls, TrustsNobodyElse) {
  GrpcPeer peer(accept_all, server(false));
  ExporterUnderTest exporter(options("https://", peer));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_THAT(exporter.said(), HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"));
  EXPECT_TRUE(peer.requests().empty());
}

TEST_F(Tls, AnEndpointWithoutASchemeIsTls) {
  GrpcPeer peer(accept_all, server(false));
  auto options = Tls::options("", peer);
  options.otlp.certificate = certificates_.path("ca.pem");
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 1u);
}

TEST_F(Tls, ShowsTheClientsCertificate) {
  GrpcPeer peer(accept_all, server(true));
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

TEST_F(Tls, APlainPortIsNamedAsSuch) {
  GrpcPeer peer(accept_all);
  ExporterUnderTest exporter(options("https://", peer));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_THAT(exporter.said(), HasSubstr("write http://"));
}

}  // namespace
}  // namespace lens::tests
