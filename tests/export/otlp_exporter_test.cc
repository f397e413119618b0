// SPDX-License-Identifier: Apache-2.0
// What becomes of spans when a collector behaves, misbehaves and stays away, without a spool.
#include "src/export/otlp_exporter.h"

#include <gmock/gmock.h>

#include "src/export/compression.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::HasSubstr;

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
                         testing::Values(301, 400, 401, 403, 404, 407, 408, 415, 429, 500, 501, 502, 503, 504));

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
      one.after = number > failures ? 200ms : 20ms;  // long enough for another to come meanwhile
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
  EXPECT_THAT(spans_at(peer), testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 100)));
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
  options.export_timeout = 1s;
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

// Contract: C2, C5
TEST(OtlpExporter, ShutdownDoesNotWaitForAnAttemptThatWouldComeTooLate) {
  HttpPeer busy([](int, const HttpRequest&) { return answer(503, "", "Retry-After: 3600\r\n"); });
  ExporterUnderTest exporter(http(busy));
  exporter.take(spans_of("a", 0, 5), 5);
  EXPECT_LT(exporter.drain(60s), 30s);
  EXPECT_EQ(busy.requests().size(), 1u);
  EXPECT_EQ((*exporter).counts().lost, (std::map<std::string, std::uint64_t>{{"503", 5}}));
  EXPECT_EQ(exporter.said(), busy.url() + " answered 503\n");
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

}  // namespace
}  // namespace lens::tests
