// SPDX-License-Identifier: Apache-2.0
// What becomes of spans when a collector behaves, misbehaves and stays away.
#include "src/export/otlp_exporter.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "src/export/compression.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/kill/child.h"
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

// Redirects, of which it says nothing, are no receiver's.
// Contract: 7.http-retry
TEST_P(HttpStatus, IsRetriedWhereTheSpecificationSaysSo) {
  const int status = GetParam();
  const bool retried = status == 301 || status == 429 || status == 502 || status == 503 || status == 504;
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

// Contract: C5
TEST(OtlpExporter, WaitsAsLongAsRetryAfterSays) {
  for (const int status : {429, 503}) {
    HttpPeer peer([status](int number, const HttpRequest&) {
      return number == 0 ? answer(status, "", "Retry-After: 2\r\n") : answer(200);
    });
    ExporterUnderTest exporter(http(peer));
    const auto begin = std::chrono::steady_clock::now();
    exporter.take(spans_of("a", 0, 2), 2);
    ASSERT_TRUE(exporter.until_flushed());
    // Without the header it is one and a half seconds at most.
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 2s) << status;
    EXPECT_EQ(exporter.exported(), 2u);
  }
}

TEST(OtlpExporter, ACollectorThatStaysAwayIsNewsOnce) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(503); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until([&] { return peer.requests().size() == 4; }));
  EXPECT_EQ(exporter.said(), peer.url() + " answered 503\n");
}

TEST(OtlpExporter, EachCauseOfFailureIsNewsOnce) {
  HttpPeer peer([](int number, const HttpRequest&) {
    constexpr int statuses[] = {503, 429, 503, 502, 429};
    return number < 5 ? answer(statuses[number]) : answer(200);
  });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  const std::string answered = peer.url() + " answered ";
  EXPECT_EQ(exporter.said(), answered + "503\n" + answered + "429\n" + answered + "502\n");
}

// Contract: 7.one-at-a-time
TEST(OtlpExporter, ACollectorThatFailsIsAskedOneAtATimeHoweverOftenItIsFlushed) {
  for (const bool is_spooled : {false, true}) {
    TemporaryDirectory directory;
    constexpr int failures = 8;
    std::atomic<int> most_while_failing{0};
    HttpPeer peer([&](int number, const HttpRequest&) {
      if (number == failures) most_while_failing = peer.most_at_once();
      Answer one = answer(number < failures ? 503 : 200);
      one.after = 20ms;
      return one;
    });
    auto options = http(peer);
    if (is_spooled) options.spool = spool_in(directory.path(), 10 << 20, "run");
    ExporterUnderTest exporter(options);
    exporter.take(spans_of("a", 0, 1), 1);
    ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
    constexpr int batches = 10;
    for (int i = 1; i < batches; ++i) exporter.take(spans_of("a", i, 1, 100'000), 1);
    ASSERT_TRUE(exporter.until([&] {
      (*exporter).flush();
      return exporter.exported() == batches;
    }));
    EXPECT_EQ(most_while_failing, 1);
    EXPECT_GT(peer.most_at_once(), 1) << "once it is well again";
  }
}

// Contract: 7.one-at-a-time
TEST(OtlpExporter, AFlushAsksACollectorThatFailsOnceMore) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(503); });
  auto options = http(peer);
  options.retry = {.first = 1h, .factor = 1, .longest = 1h};
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  for (int i = 1; i < 4; ++i) exporter.take(spans_of("a", i, 1), 1);
  for (std::size_t flushes = 1; flushes <= 3; ++flushes) {
    (*exporter).flush();
    EXPECT_FALSE(exporter.until([&] { return peer.requests().size() > 1 + flushes; }, 100ms));
    EXPECT_EQ(peer.requests().size(), 1 + flushes);
  }
}

// Contract: 7.one-at-a-time, C5
TEST(OtlpExporter, AFlushWaitsAsLongAsTheCollectorHasAskedFor) {
  HttpPeer peer(
      [](int number, const HttpRequest&) { return number == 0 ? answer(503, "", "Retry-After: 1\r\n") : answer(200); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(exporter.until([&] {
    (*exporter).flush();
    return exporter.exported() == 1;
  }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 950ms);
  EXPECT_EQ(peer.requests().size(), 2u);
}

TEST(OtlpExporter, ACollectorThatFailsNowAndThenIsNewsOnceAMinute) {
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number % 2 == 0 ? 503 : 200); });
  ExporterUnderTest exporter(http(peer));
  for (int i = 0; i < 4; ++i) {
    exporter.take(spans_of("a", i, 1), 1);
    ASSERT_TRUE(exporter.until_flushed());
  }
  EXPECT_EQ(exporter.said(), peer.url() + " answered 503\n");
}

// Contract: C23
TEST(OtlpExporter, AnAddressOfNothingIsNamed) {
  HttpPeer peer(
      [](int, const HttpRequest&) { return answer(404, "404 page not found", "Content-Type: text/plain\r\n"); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_THAT(exporter.said(),
              HasSubstr(peer.url() + "/v1/traces answered 404: 404 page not found; is the path right?"));
}

// Contract: C7
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

// Contract: C7
TEST(OtlpExporter, PartialSuccessesWhoseMessagesVaryAreSaidOnceAMinute) {
  HttpPeer peer([](int number, const HttpRequest&) {
    const std::string text = "request " + std::to_string(number);
    return answer(200, bytes_field(1, message({varint_field(1, 1), bytes_field(2, text)})));
  });
  ExporterUnderTest exporter(http(peer));
  for (int i = 0; i < 4; ++i) {
    exporter.take(spans_of("a", 5 * i, 5), 5);
    ASSERT_TRUE(exporter.until_flushed());
  }
  EXPECT_EQ(exporter.refused(), 4u);
  EXPECT_EQ(exporter.said(), "the collector rejected 1 span: request 0\n");
  EXPECT_THAT((*exporter).last_failure(), testing::HasSubstr("request 3")) << "which the last line tells";
}

// Contract: C7
TEST(OtlpExporter, AWarningOfTheCollectorIsPassedOn) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(200, bytes_field(1, bytes_field(2, "take\ncare"))); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 5u);
  EXPECT_EQ(exporter.said(), "the collector warns: take care\n");
}

// Contract: 7.request-size
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

// Contract: 7.request-size
TEST(OtlpExporter, HalvingHasAnEnd) {
  HttpPeer peer([&](int, const HttpRequest&) { return answer(413); });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 1'000, 200), 1'000);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ((*exporter).counts().lost, (std::map<std::string, std::uint64_t>{{"too_large", 1'000}}));
  EXPECT_LT(peer.requests().size(), 130u) << "of a quarter of a mebibyte, in halves of 4 to 8 KiB";
  EXPECT_GT(peer.requests().size(), 30u);
}

// Contract: 7.request-size
TEST(OtlpExporter, AValueThatIsTooLargeForTheCollectorIsNoReasonToHalve) {
  HttpPeer peer([&](int, const HttpRequest&) {
    return answer(400, "an attribute's value is too large", "Content-Type: text/plain\r\n");
  });
  ExporterUnderTest exporter(http(peer));
  exporter.take(spans_of("a", 0, 16, 5'000), 16);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(peer.requests().size(), 1u);
  EXPECT_EQ((*exporter).counts().lost, (std::map<std::string, std::uint64_t>{{"400", 16}}));
}

// Contract: 7.request-cap
TEST(OtlpExporter, NoRequestExceedsTheCapOf64MebibytesWhateverItWouldBeCompressedTo) {
  HttpPeer peer(accept_all);
  auto options = http(peer);
  options.otlp.compression = OtlpCompression::gzip;
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 3) + spans_of("huge", 0, 1, (64 << 20) + 1) + spans_of("a", 3, 3), 7);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 6u);
  EXPECT_EQ((*exporter).counts().lost, (std::map<std::string, std::uint64_t>{{"too_large", 1}}));
  EXPECT_THAT(exporter.said(), HasSubstr("no request of OTLP holds more than 64 MiB"));
  for (const HttpRequest& request : peer.requests()) EXPECT_LT(request.body.size(), 1'000u);
}

// Contract: C22
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

// Contract: C22
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
    const std::string rejected =
        bytes_field(1, message({varint_field(1, 3), bytes_field(2, std::string(characters, 'x'))}));
    HttpPeer http_peer([&](int, const HttpRequest&) { return answer(200, rejected); });
    GrpcPeer grpc_peer([&](int, const GrpcRequest&) { return GrpcAnswer{.message = rejected, .compressed = true}; });
    for (const auto& options :
         {http(http_peer), options_for(OtlpProtocol::grpc, "http://127.0.0.1:" + std::to_string(grpc_peer.port()))}) {
      ExporterUnderTest exporter(options);
      exporter.take(spans_of("a", 0, 5), 5);
      ASSERT_TRUE(exporter.until_flushed());
      const bool is_read = characters < 1 << 20;
      EXPECT_EQ(exporter.refused(), is_read ? 3u : 0u);
      EXPECT_THAT(exporter.said(), HasSubstr(is_read ? "rejected 3 spans" : "what it rejected is not known"));
    }
  }
}

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

// Contract: C24
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

// Contract: D44
TEST(OtlpExporter, NoCallWaitsForTheCollector) {
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  ExporterUnderTest exporter(http(peer));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) exporter.take(spans_of("a", i, 1, 500'000), 1);
  (*exporter).flush();
  for (int i = 0; i < 10; ++i) (*exporter).poll();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
}

// Contract: 3.deadline, C1, C2, C24
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
      if (spooled) options.spool = spool_in(directory.path(), 10 << 20, url);
      ExporterUnderTest exporter(options);
      exporter.take(spans_of("a", 0, 5), 5);
      EXPECT_LT(exporter.drain(300ms), 5s) << "a request has ten";
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
    options.spool = spool_in(directory_.path(), most_bytes, "run1");
    return options;
  }
  bool is_empty() const { return std::filesystem::is_empty(directory_.path()); }

  TemporaryDirectory directory_;
};

// Contract: 7.spool
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

// Contract: 7.spool
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
  EXPECT_EQ(second.exported(), 7u) << "it counts what it sends, whoever recorded it";
  EXPECT_TRUE(is_empty());
}

// Contract: 7.spool-seen
TEST_F(Spooling, ALivingProcessSendsWhatAnotherOfTheRunLeft) {
  HttpPeer peer(accept_all);
  ExporterUnderTest living(options(peer.port()), "living");
  living.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(living.until_flushed());
  const auto leave = [&](const std::string& prefix, bool is_sending) {
    Shared<std::atomic<bool>> has_left;
    Child other([&] {
      const std::string spans = spans_of(prefix, 0, 2);
      const auto spool = spool_in(directory_.path(), 10 << 20, "run1");
      spool->add(envelope_of("other").head(spans.size()) + spans, 2);
      const auto request = is_sending ? spool->take() : std::nullopt;
      *has_left = true;
      while (is_sending) pause();
      _exit(0);
    });
    while (!*has_left) living.until([] { return true; });
    if (!is_sending) {
      EXPECT_EQ(other.wait(), 0);
    }
    // Killed while it sends, where it does: longer than it takes to find that it does.
    if (is_sending) living.until([] { return false; }, 1'500ms);
  };
  leave("b", false);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(living.until([&] { return living.exported() == 3; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "a second, and what a busy machine takes";
  leave("c", true);
  ASSERT_TRUE(living.until([&] { return living.exported() == 5; }));
  auto expected = names_of("living", "a", 0, 1);
  for (const char* prefix : {"b", "c"})
    for (const std::string& name : names_of("other", prefix, 0, 2)) expected.push_back(name);
  EXPECT_THAT(received(peer), testing::UnorderedElementsAreArray(expected));
  EXPECT_TRUE(is_empty());
}

TEST_F(Spooling, ThousandsOfSmallBatchesMakeFewFilesAndAQuickEnd) {
  ExporterUnderTest exporter(options(free_port(), 100 << 20));
  constexpr int many = 5'000;
  for (int i = 0; i < many; ++i) exporter.take(spans_of("a", i, 1), 1);
  EXPECT_LT(exporter.drain(5s), 4s);
  EXPECT_LT(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 100);
  EXPECT_THAT(exporter.announced(), HasSubstr("5000 spans wait"));
}

// Contract: 7.spool
TEST_F(Spooling, WhatOneDropsOfAnothersIsCountedByTheOneThatDrops) {
  ExporterUnderTest first(options(free_port(), 2'000)), second(options(free_port(), 2'000));
  constexpr int each = 20;
  for (int i = 0; i < each; ++i) first.take(spans_of("a", i, 1), 1);
  for (int i = 0; i < each; ++i) second.take(spans_of("b", i, 1), 1);
  first.drain(100ms);
  second.drain(100ms);
  std::uint64_t left = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_.path()))
    left += exporting::SpoolFile::of(file.path().filename().string())->items;
  EXPECT_GT((*second).counts().lost_of_others.at("spool_full"), 0u);
  EXPECT_EQ(first.refused() + second.refused() + left, 2u * each);
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

// Contract: 7.spool-torn
TEST_F(Spooling, OfATornFileWhatIsThereIsExportedAndWhatIsNotIsLost) {
  const int port = free_port();
  {
    ExporterUnderTest first(options(port));
    for (int i = 0; i < 4; ++i) first.take(spans_of("a", i, 1), 1);
    first.drain(100ms);
  }
  const auto file = std::filesystem::directory_iterator(directory_.path())->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 0 ? 503 : 200); }, port);
  ExporterUnderTest second(options(port));
  ASSERT_TRUE(second.until([&] { return second.exported() > 0; }));
  EXPECT_EQ(second.exported() + second.refused(), 4u);
  EXPECT_EQ(received(peer).size(), 2 * second.exported()) << "sent twice, taken once";
  EXPECT_EQ((*second).counts().lost, (std::map<std::string, std::uint64_t>{{"spool_damaged", second.refused()}}));
  EXPECT_EQ((*second).counts().lost_of_others, (*second).counts().lost);
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

// Contract: 7.no-receiver
TEST_F(Spooling, KeepsWhatALoginPageAnsweredUntilAReceiverAnswers) {
  for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::http_json}) {
    std::atomic<bool> is_portal{true};
    HttpPeer peer([&](int, const HttpRequest&) {
      return is_portal ? answer(200, "<html>Log in</html>", "Content-Type: text/html\r\n") : answer(200);
    });
    auto options = this->options(peer.port());
    options.otlp.protocol = protocol;
    ExporterUnderTest exporter(options);
    for (int i = 0; i < 5; ++i) {
      exporter.take(spans_of("a", i, 1), 1);
      ASSERT_TRUE(exporter.until_flushed());
    }
    ASSERT_TRUE(exporter.until([&] { return peer.requests().size() > 2; }));
    EXPECT_THAT(exporter.said(), HasSubstr(peer.url() + " answered 200 with text/html that is no answer of OTLP"));
    EXPECT_EQ(std::ranges::count(exporter.said(), '\n'), 1) << exporter.said();
    EXPECT_EQ(exporter.exported() + exporter.refused(), 0u);
    is_portal = false;
    ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 5; }));
    EXPECT_TRUE(is_empty());
  }
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

// Contract: 3.deadline, 7.bounds
TEST_F(Spooling, ThousandsOfSmallRequestsAreKeptTogetherAtTheEndWithinTheirTime) {
  constexpr int count = 10'000;
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  for (const bool has_time : {false, true}) {
    auto patient = options(peer.port());
    patient.otlp.timeout = 1h;  // or a slow machine keeps those in flight before the end
    ExporterUnderTest exporter(patient);
    for (int i = 0; i < count; ++i) exporter.take(spans_of("a", i, 1), 1);
    EXPECT_LT(exporter.drain(0ms, has_time ? 5s : 0ms), 4s);
    if (!has_time) {
      EXPECT_EQ((*exporter).counts().lost, (std::map<std::string, std::uint64_t>{{"shutdown", count}}));
      EXPECT_TRUE(is_empty());
      continue;
    }
    EXPECT_EQ(exporter.refused(), 0u);
    const exporting::SpoolContents kept = spool_in(directory_.path(), 10 << 20, "run1")->contents();
    EXPECT_EQ(kept.items, std::uint64_t{count});
    EXPECT_LT(kept.requests, 100u);
  }
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
