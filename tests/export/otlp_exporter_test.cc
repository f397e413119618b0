// SPDX-License-Identifier: Apache-2.0
// What becomes of spans when a collector behaves, misbehaves and stays away.
#include "src/export/otlp_exporter.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "src/export/compression.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/fault_proxy.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::HasSubstr;

Answer accept_all(int, const HttpRequest&) { return answer(200); }

exporting::OtlpExporterOptions http(const HttpPeer& peer) {
  return options_for(OtlpProtocol::http_protobuf, peer.url());
}

std::vector<std::string> received(const HttpPeer& peer) {
  std::vector<std::string> names;
  for (const HttpRequest& request : peer.requests())
    for (const std::string& name : spans_in(request.body)) names.push_back(name);
  return names;
}

// ---- answers of HTTP

class HttpStatus : public testing::TestWithParam<int> {};

TEST_P(HttpStatus, IsRetriedWhereTheSpecificationSaysSo) {
  const int status = GetParam();
  const bool retried = status == 429 || status == 502 || status == 503 || status == 504;
  HttpPeer peer([&](int number, const HttpRequest&) { return answer(number == 0 ? status : 200); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(peer.requests().size(), retried ? 2u : 1u);
  EXPECT_EQ(exporter.exported(), retried ? 2u : 0u);
  EXPECT_EQ(exporter.refused(), retried ? 0u : 2u);
  EXPECT_THAT(exporter.said(), HasSubstr("answered " + std::to_string(status)));
}

INSTANTIATE_TEST_SUITE_P(All, HttpStatus,
                         testing::Values(301, 400, 401, 403, 404, 408, 415, 429, 500, 501, 502, 503, 504));

TEST(OtlpExporter, WaitsAsLongAsRetryAfterSays) {
  HttpPeer peer(
      [](int number, const HttpRequest&) { return number == 0 ? answer(503, "", "Retry-After: 1\r\n") : answer(200); });
  ExporterUnderTest exporter(http(peer));
  const auto begin = std::chrono::steady_clock::now();
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
  EXPECT_EQ(exporter.exported(), 2u);
}

TEST(OtlpExporter, ACollectorThatStaysAwayIsNewsOnce) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(503); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until([&] { return peer.requests().size() == 4; }));
  EXPECT_EQ(exporter.said(), peer.url() + "/v1/traces answered 503\n");
}

TEST(OtlpExporter, EachCauseOfFailureIsNewsOnce) {
  HttpPeer peer([](int number, const HttpRequest&) {
    constexpr int statuses[] = {503, 429, 503, 502, 429};
    return number < 5 ? answer(statuses[number]) : answer(200);
  });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  const std::string answered = peer.url() + "/v1/traces answered ";
  EXPECT_EQ(exporter.said(), answered + "503\n" + answered + "429\n" + answered + "502\n");
}

TEST(OtlpExporter, ACollectorThatFailsNowAndThenIsNewsOnceAMinute) {
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number % 2 == 0 ? 503 : 200); });
  ExporterUnderTest exporter(http(peer));
  for (int i = 0; i < 4; ++i) {
    exporter.take(spans_of("a", i, 1), 1);
    ASSERT_TRUE(exporter.until_flushed());
  }
  EXPECT_EQ(exporter.said(), peer.url() + "/v1/traces answered 503\n");
}

TEST(OtlpExporter, AnAddressOfNothingIsNamed) {
  HttpPeer peer(
      [](int, const HttpRequest&) { return answer(404, "404 page not found", "Content-Type: text/plain\r\n"); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_THAT(exporter.said(),
              HasSubstr(peer.url() + "/v1/traces answered 404: 404 page not found; is the path right?"));
}

TEST(OtlpExporter, PartialSuccessIsCountedSaidAndNeverRetried) {
  for (const bool json : {false, true}) {
    HttpPeer peer([&](int, const HttpRequest&) {
      const std::string partial = message({varint_field(1, 3), bytes_field(2, "three were \"bad\"")});
      return json ? answer(200, R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"three were \"bad\""}})",
                           "Content-Type: application/json\r\n")
                  : answer(200, bytes_field(1, partial));
    });
    ExporterUnderTest exporter(options_for(json ? OtlpProtocol::http_json : OtlpProtocol::http_protobuf, peer.url()));
    exporter.take(spans_of("a", 0, 5), 5);
    ASSERT_TRUE(exporter.until_flushed());
    exporter.drain(1s);
    EXPECT_EQ(peer.requests().size(), 1u);
    EXPECT_EQ(exporter.exported(), 2u);
    EXPECT_EQ(exporter.refused(), 3u);
    EXPECT_EQ(exporter.said(), "the collector rejected 3 spans: three were \"bad\"\n");
  }
}

TEST(OtlpExporter, AWarningOfTheCollectorIsPassedOn) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200, bytes_field(1, bytes_field(2, "take\ncare"))); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 5u);
  EXPECT_EQ(exporter.said(), "the collector warns: take care\n");
}

TEST(OtlpExporter, WhatIsTooLargeIsHalvedUntilItIsTaken) {
  for (const int status : {413, 400}) {
    HttpPeer peer([&](int, const HttpRequest& request) {
      if (std::stoul(request.headers.at("content-length")) < 30'000) return answer(200);
      return answer(status, "http: request body too large", "Content-Type: text/plain\r\n");
    });
    ExporterUnderTest exporter(http(peer));
    exporter.take(spans_of("a", 0, 16, 5'000), 16);
    ASSERT_TRUE(exporter.until_flushed());
    EXPECT_EQ(exporter.exported(), 16u);
    EXPECT_EQ(exporter.refused(), 0u);
    EXPECT_EQ(peer.requests().size(), 7u) << "16 and 8 + 8 are refused, four times 4 taken";
  }
}

TEST(OtlpExporter, AHugeAnswerIsCutOff) {
  HttpPeer peer([](int number, const HttpRequest&) {
    if (number > 0) return answer(200);
    return Answer{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n",
                  .repeated = 1 << 10,
                  .tail = std::string(1 << 20, 'x')};
  });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.refused(), 5u);
  EXPECT_THAT(exporter.said(), HasSubstr("more than 4 MiB"));
  exporter.take(spans_of("a", 5, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 5u);
}

TEST(OtlpExporter, AnAnswerThatGrowsWhenItIsUnpackedIsCutOffToo) {
  const std::string bomb = exporting::gzipped(std::string(8 << 20, '\0')).value();
  ASSERT_LT(bomb.size(), 64u << 10);
  HttpPeer http_peer([&](int, const HttpRequest&) { return answer(200, bomb, "Content-Encoding: gzip\r\n"); });
  ExporterUnderTest exporter(http(http_peer));
  exporter.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.refused(), 5u);
  EXPECT_THAT(exporter.said(), HasSubstr("more than 4 MiB"));

  GrpcPeer grpc_peer(
      [](int, const GrpcRequest&) { return GrpcAnswer{.message = std::string(8 << 20, '\0'), .compressed = true}; });
  ExporterUnderTest by_grpc(options_for(OtlpProtocol::grpc, "http://127.0.0.1:" + std::to_string(grpc_peer.port())));
  by_grpc.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(by_grpc.until_flushed());
  EXPECT_EQ(by_grpc.refused(), 5u);
  EXPECT_THAT(by_grpc.said(), HasSubstr("more than 4 MiB"));
}

TEST(OtlpExporter, WhatALongAnswerRejectsIsCountedAndALongerOneIsSaidToBeUnread) {
  for (const std::size_t characters : {std::size_t{100'000}, std::size_t{2 << 20}}) {
    HttpPeer peer([&](int, const HttpRequest&) {
      return answer(200, bytes_field(1, message({varint_field(1, 3), bytes_field(2, std::string(characters, 'x'))})));
    });
    ExporterUnderTest exporter(http(peer));
    exporter.take(spans_of("a", 0, 5), 5);
    ASSERT_TRUE(exporter.until_flushed());
    const bool is_read = characters < 1 << 20;
    EXPECT_EQ(exporter.refused(), is_read ? 3u : 0u);
    EXPECT_THAT(exporter.said(), HasSubstr(is_read ? "rejected 3 spans" : "what it rejected is not known"));
  }
}

// ---- faults of the network, for both transports

struct FaultCase {
  std::string name;
  std::vector<Fault> faults;
};

class NetworkFault : public testing::TestWithParam<std::tuple<OtlpProtocol, FaultCase>> {};

TEST_P(NetworkFault, LosesNoBatchAndMixesNone) {
  const auto& [protocol, fault] = GetParam();
  const bool grpc = protocol == OtlpProtocol::grpc;
  HttpPeer http_peer(accept_all);
  GrpcPeer grpc_peer([](int, const GrpcRequest&) { return GrpcAnswer{}; });
  FaultProxy proxy(grpc ? grpc_peer.port() : http_peer.port(), fault.faults);
  auto options = options_for(protocol, proxy.url());
  options.otlp.timeout = 300ms;
  ExporterUnderTest exporter(options, "first");
  for (int i = 0; i < 3; ++i) exporter.take(spans_of("a", i * 10, 10, 2'000), 10);
  ASSERT_TRUE(exporter.until_flushed()) << exporter.said();

  std::multiset<std::string> names;
  for (const HttpRequest& request : http_peer.requests())
    for (const std::string& name : spans_in(request.body)) names.insert(name);
  for (const GrpcRequest& request : grpc_peer.requests())
    for (const std::string& name : spans_in(request.message)) names.insert(name);
  const auto expected = names_of("first", "a", 0, 30);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), std::set<std::string>(expected.begin(), expected.end()));
  const bool is_ambiguous = fault.name == "LostAnswer" || fault.name == "Drip";
  EXPECT_TRUE(is_ambiguous || names.size() == expected.size()) << "duplicates without need: " << names.size();
  EXPECT_EQ(exporter.exported(), 30u);
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_TRUE(fault.name == "Drip" || !exporter.said().empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, NetworkFault,
    testing::Combine(testing::Values(OtlpProtocol::grpc, OtlpProtocol::http_protobuf),
                     testing::Values(FaultCase{"Close", {{Fault::Kind::close}, {Fault::Kind::close}}},
                                     FaultCase{"ResetAtOnce", {{Fault::Kind::reset, 0}, {Fault::Kind::reset, 0}}},
                                     FaultCase{"ResetMidBody",
                                               {{Fault::Kind::reset, 10'000}, {Fault::Kind::reset, 5'000}}},
                                     FaultCase{"HalfOpen", {{Fault::Kind::half_open}}},
                                     FaultCase{"Garbage", {{Fault::Kind::garbage}, {Fault::Kind::garbage}}},
                                     FaultCase{"LostAnswer", {{Fault::Kind::lost_answer, 15'000}}},
                                     FaultCase{"Drip", {{Fault::Kind::drip}}})),
    [](const auto& info) {
      const bool grpc = std::get<0>(info.param) == OtlpProtocol::grpc;
      return (grpc ? "Grpc" : "Http") + std::get<1>(info.param).name;
    });

// ---- bounds

TEST(OtlpExporter, HoldsTwoMebibytesAndRefusesMoreWithoutASpool) {
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  ExporterUnderTest exporter(http(peer));
  for (int i = 0; i < 10; ++i) exporter.take(spans_of("a", i, 1, 500'000), 1);
  (*exporter).flush();
  ASSERT_TRUE(exporter.until([&] { return exporter.refused() == 6; }));
  EXPECT_FALSE((*exporter).is_flushed());
  EXPECT_THAT(exporter.said(), HasSubstr("does not keep up"));
}

TEST(OtlpExporter, SmallBatchesMayBeMany) {
  HttpPeer peer(accept_all);
  ExporterUnderTest exporter(http(peer));
  for (int i = 0; i < 100; ++i) exporter.take(spans_of("a", i, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_THAT(received(peer), testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 100)));
}

TEST(OtlpExporter, BatchesThatMayWaitCanBeFewerAndLargerOnesAreBetterThen) {
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  auto options = http(peer);
  options.most_batches = 2;
  ExporterUnderTest exporter(options);
  EXPECT_TRUE((*exporter).is_ready());
  for (int i = 0; i < 2; ++i) exporter.take(spans_of("a", i, 1), 1);
  EXPECT_FALSE((*exporter).is_ready());
  EXPECT_EQ(exporter.refused(), 0u);
  exporter.take(spans_of("a", 2, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return exporter.refused() == 1; }));
}

TEST(OtlpExporter, HoldsTheMemoryOfABatchUntilItIsSettledHoweverOftenItIsSplit) {
  std::atomic<bool> holds_back{true};
  HttpPeer peer([&](int, const HttpRequest& request) {
    if (std::stoul(request.headers.at("content-length")) > 30'000) return answer(413);
    return holds_back ? answer(503) : answer(200);
  });
  ExporterUnderTest exporter(http(peer));
  auto memory = std::make_shared<const std::string>(spans_of("a", 0, 8, 5'000));
  const std::weak_ptr<const std::string> held = memory;
  const std::string_view elements = *memory;
  (*exporter).export_batch({elements, 8, std::move(memory)});
  ASSERT_TRUE(exporter.until([&] { return peer.requests().size() > 3; }));
  EXPECT_FALSE(held.expired());
  holds_back = false;
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(exporter.exported(), 8u);
}

TEST(OtlpExporter, SpansThatMayWaitCanBeFewer) {
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  auto options = http(peer);
  options.most_queued_spans = 25;
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 4; ++i) exporter.take(spans_of("a", i, 10), 10);
  ASSERT_TRUE(exporter.until([&] { return exporter.refused() == 20; }));
}

TEST(OtlpExporter, ABatchThatNobodyTakesIsGivenUpAfterItsTimeWithoutASpool) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(503); });
  auto options = http(peer);
  options.export_timeout = 100ms;
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until([&] { return exporter.refused() == 2; }));
  EXPECT_GT(peer.requests().size(), 1u);
}

TEST(OtlpExporter, NoCallWaitsForTheCollector) {
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  ExporterUnderTest exporter(http(peer));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) exporter.take(spans_of("a", i, 1, 500'000), 1);
  (*exporter).flush();
  for (int i = 0; i < 10; ++i) (*exporter).poll();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
}

TEST(OtlpExporter, ShutdownKeepsItsDeadlineWhateverTheCollectorDoes) {
  TemporaryDirectory directory;
  HttpPeer silent([](int, const HttpRequest&) { return hang(); });
  HttpPeer busy([](int, const HttpRequest&) { return answer(503, "", "Retry-After: 3600\r\n"); });
  const BlackHole black_hole;
  const std::string loopback = "http://127.0.0.1:";
  for (const std::string& url : {silent.url(), busy.url(), loopback + std::to_string(black_hole.port()),
                                 loopback + std::to_string(free_port())}) {
    for (const bool spooled : {false, true}) {
      SCOPED_TRACE(url + (spooled ? " spooled" : ""));
      auto options = options_for(OtlpProtocol::http_protobuf, url);
      if (spooled) options.spool = {directory.path(), 10 << 20, url};
      ExporterUnderTest exporter(options);
      exporter.take(spans_of("a", 0, 5), 5);
      EXPECT_LT(exporter.drain(300ms), 500ms);
      EXPECT_EQ(exporter.refused(), spooled ? 0u : 5u);
      EXPECT_THAT(exporter.announced(), HasSubstr(spooled ? "5 spans wait in" : ""));
    }
  }
}

// ---- the spool

class Spooling : public testing::Test {
 protected:
  exporting::OtlpExporterOptions options(int port, std::uint64_t most_bytes = 10 << 20) const {
    auto options = options_for(OtlpProtocol::http_protobuf, "http://127.0.0.1:" + std::to_string(port));
    options.spool = {directory_.path(), most_bytes, "run1"};
    return options;
  }
  bool is_empty() const { return std::filesystem::is_empty(directory_.path()); }

  TemporaryDirectory directory_;
};

TEST_F(Spooling, SendsWhatWaitedWhenTheCollectorIsBack) {
  const int port = free_port();
  ExporterUnderTest exporter(options(port));
  for (int i = 0; i < 10; ++i) exporter.take(spans_of("a", i, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_FALSE(is_empty());
  HttpPeer peer(accept_all, port);
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 10; }));
  EXPECT_THAT(received(peer), testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 10)));
  EXPECT_TRUE(is_empty());
  exporter.drain(1s);
  EXPECT_EQ(exporter.announced(), "");
  EXPECT_EQ(exporter.refused(), 0u);
}

TEST_F(Spooling, TheNextProcessOfTheRunSendsUnderTheResourceThatRecorded) {
  const int port = free_port();
  {
    ExporterUnderTest first(options(port), "first");
    first.take(spans_of("a", 0, 5), 5);
    first.drain(1s);
    EXPECT_THAT(first.announced(), HasSubstr("5 spans wait in " + directory_.path().string()));
    EXPECT_EQ(first.refused(), 0u);
  }
  HttpPeer peer(accept_all, port);
  ExporterUnderTest second(options(port), "second");
  second.take(spans_of("b", 0, 2), 2);
  second.drain(5s);
  auto expected = names_of("first", "a", 0, 5);
  for (const std::string& name : names_of("second", "b", 0, 2)) expected.push_back(name);
  EXPECT_THAT(received(peer), testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(second.exported(), 2u) << "it counts what it recorded";
  EXPECT_TRUE(is_empty());
}

TEST_F(Spooling, TakesWhatASlowCollectorLeaves) {
  std::atomic<bool> slow{true};
  HttpPeer peer([&](int, const HttpRequest&) { return slow ? hang() : answer(200); });
  auto options = this->options(peer.port());
  options.otlp.timeout = 300ms;
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 20; ++i) exporter.take(spans_of("a", i, 1), 1);
  slow = false;
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 20; }));
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_TRUE(is_empty());
}

TEST_F(Spooling, WhatWasRefusedLeavesIt) {
  const int port = free_port();
  ExporterUnderTest exporter(options(port));
  exporter.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  HttpPeer peer([](int, const HttpRequest&) { return answer(400); }, port);
  ASSERT_TRUE(exporter.until([&] { return exporter.refused() == 5; }));
  EXPECT_TRUE(is_empty());
}

TEST_F(Spooling, WhatIsTooLargeIsHalvedThereToo) {
  const int port = free_port();
  ExporterUnderTest exporter(options(port));
  exporter.take(spans_of("a", 0, 8, 5'000), 8);
  ASSERT_TRUE(exporter.until_flushed());
  HttpPeer peer(
      [](int, const HttpRequest& request) {
        return answer(std::stoul(request.headers.at("content-length")) < 30'000 ? 200 : 413);
      },
      port);
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 8; }));
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_TRUE(is_empty());
}

TEST_F(Spooling, ALossForWantOfRoomIsCountedOnce) {
  ExporterUnderTest exporter(options(free_port(), 1'000));
  for (int i = 0; i < 20; ++i) exporter.take(spans_of("a", i, 1), 1);
  exporter.drain(100ms);
  EXPECT_GT(exporter.refused(), 0u);
  EXPECT_LT(exporter.refused(), 20u);
  EXPECT_THAT(exporter.announced(), HasSubstr(std::to_string(20 - exporter.refused()) + " spans wait"));
}

}  // namespace
}  // namespace lens::tests
