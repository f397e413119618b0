// SPDX-License-Identifier: Apache-2.0
// What goes over the wire by OTLP/HTTP, seen by a server.
#include "src/export/transport.h"

#include <gmock/gmock.h>
#include <zstd.h>

#include "lens/version.h"
#include "src/export/compression.h"
#include "src/otlp/json.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/http_peer.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

Answer accept_all(int, const HttpRequest&) { return answer(200); }

exporting::OtlpExporterOptions http(const HttpPeer& peer) {
  return options_for(OtlpProtocol::http_protobuf, peer.url());
}

TEST(HttpTransport, PostsProtobufToThePathOfTheSignal) {
  HttpPeer peer(accept_all);
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 3), 3);
  ASSERT_TRUE(exporter.until_flushed());
  ASSERT_EQ(peer.requests().size(), 1u);
  const HttpRequest request = peer.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/traces");
  EXPECT_THAT(request.headers, Contains(Pair("content-type", "application/x-protobuf")));
  EXPECT_THAT(request.headers, Contains(Pair("user-agent", std::string("OTel-OTLP-Exporter-Lens/") + version)));
  EXPECT_THAT(request.headers, Not(Contains(Key("content-encoding"))));
  EXPECT_THAT(request.headers, Not(Contains(Key("expect"))));
  EXPECT_EQ(spans_in(request.body), names_of("svc", "a", 0, 3));
  EXPECT_EQ(exporter.exported(), 3u);
  EXPECT_EQ(exporter.said(), "");
}

TEST(HttpTransport, PostsJsonThatIsJson) {
  HttpPeer peer(accept_all);
  ExporterUnderTest exporter(options_for(OtlpProtocol::http_json, peer.url()));
  exporter.take(spans_of("a", 0, 3), 3);
  ASSERT_TRUE(exporter.until_flushed());
  const HttpRequest request = peer.requests().at(0);
  EXPECT_THAT(request.headers, Contains(Pair("content-type", "application/json")));
  EXPECT_THAT(request.body, HasSubstr("\"resourceSpans\""));
  EXPECT_EQ(spans_in(otlp::traces_from_json(request.body)), names_of("svc", "a", 0, 3));
}

TEST(HttpTransport, CompressesEachRequestAsAStreamOfItsOwn) {
  HttpPeer peer(accept_all);
  auto options = http(peer);
  options.otlp.compression = OtlpCompression::gzip;
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 3; ++i) {
    exporter.take(spans_of("a", i, 1, 10'000), 1);
    ASSERT_TRUE(exporter.until_flushed());
  }
  ASSERT_EQ(peer.requests().size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const HttpRequest request = peer.requests()[static_cast<std::size_t>(i)];
    EXPECT_THAT(request.headers, Contains(Pair("content-encoding", "gzip")));
    EXPECT_LT(request.body.size(), 1'000u);
    EXPECT_EQ(spans_in(exporting::gunzipped(request.body, 1 << 20).value_or("")), names_of("svc", "a", i, 1));
  }
}

TEST(HttpTransport, CompressesWithZstdWhereAskedTo) {
  HttpPeer peer(accept_all);
  for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::http_json}) {
    auto options = options_for(protocol, peer.url());
    options.otlp.compression = OtlpCompression::zstd;
    ExporterUnderTest exporter(options);
    exporter.take(spans_of("a", 0, 1, 10'000), 1);
    ASSERT_TRUE(exporter.until_flushed());
    const HttpRequest request = peer.requests().back();
    EXPECT_THAT(request.headers, Contains(Pair("content-encoding", "zstd")));
    EXPECT_LT(request.body.size(), 1'000u);
    std::string plain(20'000, '\0');
    plain.resize(ZSTD_decompress(plain.data(), plain.size(), request.body.data(), request.body.size()));
    const bool json = protocol == OtlpProtocol::http_json;
    EXPECT_EQ(spans_in(json ? otlp::traces_from_json(plain) : plain), names_of("svc", "a", 0, 1));
  }
}

TEST(HttpTransport, KeepsItsConnection) {
  HttpPeer peer(accept_all);
  ExporterUnderTest exporter(http(peer));
  for (int i = 0; i < 5; ++i) {
    exporter.take(spans_of("a", i, 1), 1);
    ASSERT_TRUE(exporter.until_flushed());
  }
  EXPECT_EQ(peer.requests().size(), 5u);
  EXPECT_EQ(peer.connections(), 1);
}

TEST(HttpTransport, SendsTheUsersHeadersButNotThoseThatWouldBreakTheRequest) {
  HttpPeer peer(accept_all);
  auto options = http(peer);
  options.otlp.headers = {{"Authorization", "Basic a=b=="}, {"X-Empty", ""},    {"Content-Type", "text/html"},
                          {"X-Evil", "1\r\nX-Smuggled: 2"}, {"X Bad", "space"}, {"Content-Length", "1"}};
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  const auto headers = peer.requests().at(0).headers;
  EXPECT_THAT(headers, Contains(Pair("authorization", "Basic a=b==")));
  EXPECT_THAT(headers, Contains(Pair("x-empty", "")));
  EXPECT_THAT(headers, Contains(Pair("content-type", "application/x-protobuf")));
  EXPECT_THAT(headers, Not(Contains(Key("x-evil"))));
  EXPECT_THAT(headers, Not(Contains(Key("x-smuggled"))));
  EXPECT_EQ(exporter.exported(), 1u);
}

TEST(HttpTransport, SpeaksToASocketOfThisHost) {
  TemporaryDirectory directory;
  const std::string path = directory.path() / "collector.sock";
  HttpPeer peer(accept_all, 0, path);
  ExporterUnderTest exporter(options_for(OtlpProtocol::http_protobuf, "unix:" + path));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(peer.requests().at(0).path, "/v1/traces");
}

TEST(HttpTransport, FollowsNoRedirectWithItsHeaders) {
  HttpPeer elsewhere(accept_all);
  HttpPeer peer(
      [&](int, const HttpRequest&) { return answer(307, "", "Location: " + elsewhere.url() + "/v1/traces\r\n"); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_TRUE(elsewhere.requests().empty());
  EXPECT_EQ(exporter.refused(), 1u);
  EXPECT_THAT(exporter.said(), HasSubstr(elsewhere.url()));
}

TEST(Compression, UndoesItself) {
  const std::string text(1 << 20, 'a');
  const auto compressed = exporting::gzipped(text);
  ASSERT_TRUE(compressed);
  EXPECT_LT(compressed->size(), 10'000u);
  EXPECT_EQ(exporting::gunzipped(*compressed, text.size()), text);
  EXPECT_FALSE(exporting::gunzipped(*compressed, text.size() - 1)) << "a bomb must not go off";
  EXPECT_FALSE(exporting::gunzipped(compressed->substr(0, compressed->size() / 2), text.size()));
  EXPECT_FALSE(exporting::gunzipped("no gzip", 100));
}

}  // namespace
}  // namespace lens::tests
