// SPDX-License-Identifier: Apache-2.0
// Proxies as libcurl's variables name them.
#include <gmock/gmock.h>

#include "tests/export/certificates.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/forward_proxy.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Proxy : public testing::Test {
 protected:
  /// Three requests, one after the other.
  static void send(const exporting::OtlpExporterOptions& options, const char* no_proxy = nullptr) {
    ExporterUnderTest exporter(options);
    no_proxy ? setenv("no_proxy", no_proxy, 1) : unsetenv("no_proxy");
    for (int i = 0; i < 3; ++i) {
      exporter.take(spans_of("a", i, 1, 50'000), 1);
      ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
    }
    EXPECT_EQ(exporter.exported(), 3u) << exporter.said();
  }
  static std::string address(int port) { return "127.0.0.1:" + std::to_string(port); }

  lens::test::Environment environment_;
  ForwardProxy proxy_;
  HttpPeer http_{[](int, const HttpRequest&) { return answer(200); }};
  GrpcPeer grpc_{[](int, const GrpcRequest&) { return GrpcAnswer{}; }};
};

// Contract: 7.proxy
TEST_F(Proxy, ForwardsPlainHttp) {
  environment_.set("http_proxy", proxy_.url().c_str());
  send(options_for(OtlpProtocol::http_protobuf, http_.url()));
  EXPECT_THAT(proxy_.asked(), ElementsAre("POST " + http_.url() + "/v1/traces HTTP/1.1"));
  EXPECT_EQ(http_.requests().size(), 3u);
}

// Contract: 7.proxy
TEST_F(Proxy, TunnelsPlainGrpc) {
  environment_.set("http_proxy", proxy_.url().c_str());
  send(options_for(OtlpProtocol::grpc, "http://" + address(grpc_.port())));
  EXPECT_THAT(proxy_.asked(), testing::Each("CONNECT " + address(grpc_.port()) + " HTTP/1.1"));
  EXPECT_EQ(grpc_.requests().size(), 3u);
}

// Contract: 7.proxy
TEST_F(Proxy, TunnelsTls) {
  const Certificates certificates;
  if (!certificates.made()) GTEST_SKIP() << "no openssl to make certificates with";
  GrpcPeer tls([](int, const GrpcRequest&) { return GrpcAnswer{}; },
               {.tls = true, .certificate = certificates.text("server.pem"), .key = certificates.text("server.key")});
  environment_.set("https_proxy", proxy_.url().c_str());
  auto options = options_for(OtlpProtocol::grpc, "https://" + address(tls.port()));
  options.otlp.certificate = certificates.path("ca.pem");
  send(options);
  EXPECT_THAT(proxy_.asked(), ElementsAre("CONNECT " + address(tls.port()) + " HTTP/1.1"));
}

// Contract: 7.proxy
TEST_F(Proxy, IsNotAskedWhereNoProxySaysSo) {
  environment_.set("http_proxy", proxy_.url().c_str());
  send(options_for(OtlpProtocol::http_protobuf, http_.url()), "localhost,127.0.0.1");
  send(options_for(OtlpProtocol::grpc, "http://" + address(grpc_.port())), "127.0.0.1");
  EXPECT_THAT(proxy_.asked(), IsEmpty());
}

TEST_F(Proxy, ThatCannotBeReachedIsAFailureThatMayPass) {
  environment_.set("http_proxy", "http://127.0.0.1:1");
  ExporterUnderTest exporter(options_for(OtlpProtocol::http_protobuf, http_.url()));
  unsetenv("no_proxy");
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_EQ(exporter.said(),
            "cannot reach the proxy http://127.0.0.1:1 (http_proxy): Connection refused; no_proxy lists the hosts that "
            "are reached without one\n");
  environment_.unset("http_proxy");
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 1u);
}

// Contract: 7.proxy
TEST_F(Proxy, ThatRefusesATunnelIsNamedAndNothingIsLost) {
  for (const int status : {403, 407, 502}) {
    const ForwardProxy refusing(status);
    environment_.set("http_proxy", ("http://me:secret@127.0.0.1:" + std::to_string(refusing.port())).c_str());
    TemporaryDirectory directory;
    auto options = options_for(OtlpProtocol::grpc, "http://" + address(grpc_.port()));
    options.spool = spool_in(directory.path(), 1 << 20, "run");
    ExporterUnderTest exporter(options);
    unsetenv("no_proxy");
    exporter.take(spans_of("a", 0, 1), 1);
    ASSERT_TRUE(exporter.until_flushed());
    EXPECT_THAT(exporter.said(), HasSubstr("the proxy http://…@127.0.0.1:" + std::to_string(refusing.port()) +
                                           " (http_proxy) refused a tunnel to http://" + address(grpc_.port()) +
                                           " with " + std::to_string(status)));
    EXPECT_THAT(exporter.said(), testing::Not(HasSubstr("secret")));
    environment_.unset("http_proxy");
    ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 1; })) << exporter.said();
    EXPECT_EQ(std::ranges::count(exporter.said(), '\n'), 1) << exporter.said();
  }
}

// Each in a way that libcurl misreads or cannot use, and tells with the whole URL or a part of it.
// Contract: 7.proxy
TEST_F(Proxy, ThatCannotBeUsedIsNamedWithoutItsCredentials) {
  const std::pair<std::string, const char*> proxies[] = {
      {"http://user:SECRET@SECRET@127.0.0.1:1", "special characters"},
      {"http://user:SECRET/SECRET@127.0.0.1:1", "special characters"},
      {"http://user:SECRET#SECRET@127.0.0.1:1", "special characters"},
      {"http://user:SECRET?SECRET@127.0.0.1:1", "special characters"},
      {"http://user:SECRET SECRET@127.0.0.1:1", "special characters"},
      {"user:SECRET SECRET@127.0.0.1:1", "special characters"},
      {"http://SECRET.invalid/SECRET@127.0.0.1:1", "special characters"},
      {"http://user:SECRET@127.0.0.1:99999", "cannot be read"},
      {"socks9://user:SECRET@127.0.0.1:1", "socks5"},
      {"htp://user:SECRET@127.0.0.1:1", "socks5"},
      {"socks4://user:SECRET@127.0.0.1:1", "Connection refused"},
      {"http://user:SECRET" + std::string(3000, 'x') + "@127.0.0.1:1", "Connection refused"}};
  for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::grpc})
    for (const auto& [url, why] : proxies) {
      SCOPED_TRACE(url.substr(0, 100));
      environment_.set("http_proxy", url.c_str());
      ExporterUnderTest exporter(options_for(protocol, http_.url()));
      unsetenv("no_proxy");
      exporter.take(spans_of("a", 0, 1), 1);
      ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
      exporter.drain(0ms);
      EXPECT_THAT(exporter.said(), testing::StartsWith("cannot reach the proxy "));
      EXPECT_THAT(exporter.said(), HasSubstr(why));
      for (const std::string& text : {exporter.said(), exporter.announced(), (*exporter).last_failure()})
        EXPECT_THAT(text, testing::Not(HasSubstr("SECRET")));
    }
}

// libcurl takes none there, and says that it would.
TEST_F(Proxy, StandsBeforeNoSocket) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "socket";
  environment_.set("http_proxy", "http://127.0.0.1:1");
  ExporterUnderTest exporter(options_for(OtlpProtocol::http_protobuf, "unix:" + path));
  unsetenv("no_proxy");
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_EQ(exporter.said(), "cannot reach unix:" + path + ": No such file or directory\n");
  HttpPeer peer([](int, const HttpRequest&) { return answer(200); }, 0, path);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 1u);
}

// Contract: 7.proxy
TEST_F(Proxy, ThatPassesNothingOnIsNamed) {
  for (const int status : {407, 502}) {
    const ForwardProxy refusing(status);
    environment_.set("http_proxy", refusing.url().c_str());
    ExporterUnderTest exporter(options_for(OtlpProtocol::http_protobuf, http_.url()));
    unsetenv("no_proxy");
    exporter.take(spans_of("a", 0, 1), 1);
    ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
    EXPECT_THAT(exporter.said(), HasSubstr("the proxy " + refusing.url() + " (http_proxy)"));
    environment_.unset("http_proxy");
    ASSERT_TRUE(exporter.until_flushed());
    EXPECT_EQ(exporter.exported(), 1u);
  }
}

}  // namespace
}  // namespace lens::tests
