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
#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

// Contract: 7.content, 7.zstd
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

// Contract: 7.content, D15
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

struct Resent {
  const char* name;
  OtlpProtocol protocol;
  OtlpCompression compression;
  Answer::Then ending;
};

class ResentByLibcurl : public testing::TestWithParam<Resent> {};

// A collector that closes an idle connection at the moment when a request comes by it: libcurl makes another one.
// Contract: 7.resent
TEST_P(ResentByLibcurl, IsTheSameBodyWhenAKeptConnectionEndsWithoutAnAnswer) {
  const auto& [name, protocol, compression, ending] = GetParam();
  HttpPeer peer(
      [ending = ending](int number, const HttpRequest&) { return number == 1 ? Answer{.then = ending} : answer(200); });
  auto options = options_for(protocol, peer.url());
  options.otlp.compression = compression;
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  exporter.take(spans_of("b", 0, 40, 10'000), 40);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 41u);
  EXPECT_EQ((*exporter).counts().retries, 0u) << "it is libcurl that sends it again";
  EXPECT_EQ(exporter.said(), "");
  const auto requests = peer.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(peer.connections(), 2);
  EXPECT_TRUE(requests[2].body == requests[1].body) << requests[1].body.size() << ' ' << requests[2].body.size();
  if (protocol == OtlpProtocol::http_protobuf && compression == OtlpCompression::none) {
    EXPECT_EQ(spans_in(requests[2].body), names_of("svc", "b", 0, 40));
  }
}

constexpr Resent resent[] = {
    {"ClosedProtobuf", OtlpProtocol::http_protobuf, OtlpCompression::none, Answer::Then::close},
    {"ResetProtobuf", OtlpProtocol::http_protobuf, OtlpCompression::none, Answer::Then::reset},
    {"ClosedGzip", OtlpProtocol::http_protobuf, OtlpCompression::gzip, Answer::Then::close},
    {"ClosedJson", OtlpProtocol::http_json, OtlpCompression::none, Answer::Then::close},
};
INSTANTIATE_TEST_SUITE_P(All, ResentByLibcurl, testing::ValuesIn(resent),
                         [](const auto& resent) { return std::string(resent.param.name); });

// Contract: C21
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
    EXPECT_EQ(spans_in(exporting::gunzipped(request.body, 1 << 20).bytes), names_of("svc", "a", i, 1));
  }
}

// Contract: 7.zstd
TEST(HttpTransport, CompressesWithZstdByNoDefaultAndNotForGzip) {
  lens::test::Environment environment{{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}};
  EXPECT_EQ(Config::from_env().standard.otlp_traces.compression, OtlpCompression::none);
  environment.set("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
  EXPECT_EQ(Config::from_env().standard.otlp_traces.compression, OtlpCompression::gzip);
  environment.set("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd");
  EXPECT_EQ(Config::from_env().standard.otlp_traces.compression, OtlpCompression::zstd);
  EXPECT_EQ(OtlpConfig().compression, OtlpCompression::none);
}

// Contract: 7.zstd
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

// Contract: 7.keep-alive
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

// Contract: 7.content, 7.headers
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

// Contract: 7.timeout
TEST(HttpTransport, WaitsAsLongAsItMayAndWithoutLimitWhereItIsZero) {
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  auto options = http(peer);
  options.otlp.timeout = 100ms;
  ExporterUnderTest bounded(options);
  bounded.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(bounded.until([&] { return !bounded.said().empty(); }));
  EXPECT_THAT(bounded.said(), HasSubstr("timed out"));
  options.otlp.timeout = 0ms;
  ExporterUnderTest unbounded(options);
  unbounded.take(spans_of("a", 0, 1), 1);
  EXPECT_FALSE(unbounded.until([&] { return !unbounded.said().empty(); }, 500ms));
}

// Contract: 7.unix
TEST(HttpTransport, SpeaksToASocketOfThisHost) {
  TemporaryDirectory directory;
  const std::string path = directory.path() / "collector.sock";
  HttpPeer peer(accept_all, 0, path);
  ExporterUnderTest exporter(options_for(OtlpProtocol::http_protobuf, "unix:" + path));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(peer.requests().at(0).path, "/v1/traces");
}

// Contract: 7.no-receiver
TEST(HttpTransport, FollowsNoRedirectWithItsHeaders) {
  HttpPeer elsewhere(accept_all);
  HttpPeer peer(
      [&](int, const HttpRequest&) { return answer(307, "", "Location: " + elsewhere.url() + "/v1/traces\r\n"); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return peer.requests().size() > 2; }));
  EXPECT_TRUE(elsewhere.requests().empty());
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_THAT(exporter.said(), HasSubstr(elsewhere.url()));
  EXPECT_EQ(std::ranges::count(exporter.said(), '\n'), 1) << exporter.said();
}

TEST(Compression, UndoesItself) {
  const std::string text(1 << 20, 'a');
  const auto compressed = exporting::gzipped(text);
  ASSERT_TRUE(compressed);
  EXPECT_LT(compressed->size(), 10'000u);
  using State = exporting::Unpacked::State;
  EXPECT_EQ(exporting::gunzipped(*compressed, text.size()).bytes, text);
  EXPECT_EQ(exporting::gunzipped(exporting::gzipped("head", text).value(), 2 * text.size()).bytes, "head" + text);
  EXPECT_EQ(exporting::gunzipped(exporting::gzipped("").value(), 1).state, State::whole);
  EXPECT_EQ(exporting::gunzipped(*compressed, text.size() - 1).state, State::too_large) << "a bomb must not go off";
  EXPECT_EQ(exporting::gunzipped(compressed->substr(0, compressed->size() / 2), text.size()).state, State::broken);
  EXPECT_EQ(exporting::gunzipped("no gzip", 100).state, State::broken);
  const auto unkept = exporting::gunzipped(*compressed, text.size(), text.size() - 1);
  EXPECT_EQ(unkept.state, State::unkept);
  EXPECT_EQ(unkept.bytes, "");
}

}  // namespace
}  // namespace lens::tests
